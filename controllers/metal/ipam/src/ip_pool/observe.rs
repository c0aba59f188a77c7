//! Reads the state that the plan of a pool depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use engine::{finalizer, time};
use kube::ResourceExt;
use schemas::cluster::Cluster;
use schemas::metal3_ipam::IPPool;

use super::{BY_POOL, PoolReconciler, Side, UNSETTLED, is_deleting, prefix_key};
use crate::claims::{Address, Api, Claim};

/// The state that the plan depends on.
#[derive(Debug, Default)]
pub struct Observed {
    /// Namespace and name of the pool.
    pub name: NamespacedName,
    /// The pool, if it exists.
    pub pool: Option<Arc<IPPool>>,
    /// The Cluster of the pool, if it exists.
    pub cluster: Option<Arc<Cluster>>,
    /// The claims without an address, and those that are being deleted.
    pub claims: Vec<Waiting>,
    /// The addresses of the pool, and the addresses whose names have its prefix.
    pub addresses: Vec<Known>,
}

/// A claim for which there is something to do.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The API of the claim.
    pub api: Api,
    /// Its name.
    pub name: String,
    /// The time of its creation.
    pub created: DateTime<Utc>,
    /// The address that it requests.
    pub requested: Option<String>,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether somebody else's finalizer is on it.
    pub is_used: bool,
    /// Whether this controller's finalizer is on it.
    pub has_finalizer: bool,
}

/// An address that is allocated.
#[derive(Debug, Clone)]
pub struct Known {
    /// The API of the address.
    pub api: Api,
    /// Name of the object.
    pub name: String,
    /// The address as text.
    pub address: String,
    /// Name of its claim.
    pub claim: String,
    /// Whether it belongs to the pool; if not, only its name has the pool's prefix.
    pub is_of_pool: bool,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether its claim exists.
    pub has_claim: bool,
}

impl PoolReconciler {
    /// Reads the state that the plan of a pool depends on.
    pub(super) fn observe(
        &self,
        name: NamespacedName,
        pool: Option<Arc<IPPool>>,
        cluster: Option<Arc<Cluster>>,
    ) -> Observed {
        let prefix = pool.as_ref().map(|pool| pool.spec.name_prefix.as_str()).unwrap_or_default();
        let prefix = prefix_key(&name.namespace, prefix);
        let mut claims = self.metal3.waiting(&name);
        claims.extend(self.cluster_api.waiting(&name));
        let mut addresses = self.metal3.known(&name, &prefix);
        addresses.extend(self.cluster_api.known(&name, &prefix));
        Observed { name, pool, cluster, claims, addresses }
    }
}

impl<C: Claim> Side<C> {
    fn waiting(&self, pool: &NamespacedName) -> Vec<Waiting> {
        let found = self.claims.by_index(UNSETTLED, &pool.to_string());
        let waiting = |claim: &Arc<C>| Waiting {
            api: C::API,
            name: claim.name_any(),
            created: claim.meta().creation_timestamp.as_ref().map(time::utc).unwrap_or_default(),
            requested: claim.requested().map(str::to_owned),
            is_deleting: is_deleting(claim),
            is_used: claim.is_used(),
            has_finalizer: finalizer::has(claim.as_ref(), C::FINALIZER),
        };
        found.iter().map(waiting).collect()
    }

    fn known(&self, pool: &NamespacedName, prefix: &str) -> Vec<Known> {
        let ours = self.addresses.by_index(BY_POOL, &pool.to_string());
        let named = self.addresses.by_index(BY_POOL, prefix);
        let others = named.iter().filter(|address| address.pool().as_ref() != Some(pool));
        let known = |address: &Arc<C::Address>, is_of_pool: bool| Known {
            api: C::API,
            name: address.name_any(),
            address: address.text().to_owned(),
            claim: address.claim().to_owned(),
            is_of_pool,
            is_deleting: is_deleting(address),
            has_claim: self
                .claims
                .get(&NamespacedName::new(pool.namespace.as_str(), address.claim()))
                .is_some(),
        };
        let others = others.map(|address| known(address, false));
        ours.iter().map(|address| known(address, true)).chain(others).collect()
    }
}
