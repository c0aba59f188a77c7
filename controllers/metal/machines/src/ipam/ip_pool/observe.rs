//! Reads the state that the plan of a pool depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use engine::{finalizer, time};
use kube::ResourceExt;
use schemas::cluster::Cluster;
use schemas::metal3_ipam::IPPool;

use super::observed::{Known, Observed, Waiting};
use super::plan::status_delay;
use super::{
    BY_CLAIM, BY_POOL, DELETING, PoolReconciler, Side, UNSETTLED, claim_key, is_deleting, prefix_key,
};
use crate::ipam::claims::{Address, Api, Claim, address_name};

impl PoolReconciler {
    /// Reads the state that the plan of a pool depends on.
    pub(super) fn observe(
        &self,
        name: NamespacedName,
        pool: Option<Arc<IPPool>>,
        cluster: Option<Arc<Cluster>>,
        now: DateTime<Utc>,
    ) -> Observed {
        let mut claims = self.metal3.waiting(&name);
        claims.extend(self.cluster_api.waiting(&name));
        let prefix = pool.as_ref().map(|pool| pool.spec.name_prefix.as_str()).unwrap_or_default();
        let read = |(api, object): &(Api, String)| match api {
            Api::Metal3 => self.metal3.read(&name.namespace, object),
            Api::ClusterApi => self.cluster_api.read(&name.namespace, object),
        };
        let own = self.ledger.taken(&name.to_string(), read);
        let (mut taken, allocated) = (own.addresses, own.objects);
        taken.extend(&self.ledger.taken(&prefix_key(&name.namespace, prefix), read).addresses);
        let named = pool.iter().flat_map(|pool| {
            let reserved = claims.iter().filter_map(|claim| pool.spec.pre_allocations.get(&claim.name));
            let wanted = claims.iter().filter_map(|claim| claim.requested.as_ref()).chain(reserved);
            wanted.filter_map(|text| text.parse::<IpAddr>().ok())
        });
        let named: BTreeSet<String> = named.map(|address| address_name(prefix, address)).collect();
        let mut addresses = self.metal3.known(&name, &claims, &named);
        addresses.extend(self.cluster_api.known(&name, &claims, &named));
        let is_due = pool.as_ref().is_some_and(|pool| status_delay(pool, allocated, now).is_none());
        let indexes = is_due.then(|| {
            let all = self.metal3.indexes(&name).into_iter().chain(self.cluster_api.indexes(&name));
            all.collect()
        });
        Observed { name, pool, cluster, claims, addresses, taken, allocated, indexes }
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

    /// Returns the address of an object.
    fn read(&self, namespace: &str, object: &str) -> Option<IpAddr> {
        self.addresses.get(&NamespacedName::new(namespace, object))?.text().parse().ok()
    }

    fn known(&self, pool: &NamespacedName, claims: &[Waiting], named: &BTreeSet<String>) -> Vec<Known> {
        let claims = claims.iter().filter(|claim| claim.api == C::API);
        let of_claims =
            claims.flat_map(|claim| self.addresses.by_index(BY_CLAIM, &claim_key(pool, &claim.name)));
        let named = named.iter().filter_map(|name| {
            self.addresses.get(&NamespacedName::new(pool.namespace.as_str(), name.as_str()))
        });
        let deleting = self.addresses.by_index(DELETING, &pool.to_string());
        let all = of_claims.chain(named).chain(deleting);
        let distinct: BTreeMap<String, Arc<C::Address>> =
            all.map(|address| (address.name_any(), address)).collect();
        let known = |(name, address): (String, Arc<C::Address>)| Known {
            api: C::API,
            name,
            address: address.text().to_owned(),
            claim: address.claim().to_owned(),
            is_of_pool: address.pool().as_ref() == Some(pool),
            is_deleting: is_deleting(&address),
            has_claim: self
                .claims
                .get(&NamespacedName::new(pool.namespace.as_str(), address.claim()))
                .is_some(),
        };
        distinct.into_iter().map(known).collect()
    }

    /// Returns all addresses of a pool with their claims.
    fn indexes(&self, pool: &NamespacedName) -> Vec<(String, String)> {
        let all = self.addresses.by_index(BY_POOL, &pool.to_string());
        all.iter().map(|address| (address.claim().to_owned(), address.text().to_owned())).collect()
    }
}
