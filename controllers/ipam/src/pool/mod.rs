//! The controller of a kind of pool: it allocates and releases the addresses of all claims of a pool, one pool at a time.

mod apply;
mod observe;
pub mod observed;
pub mod plan;
pub mod status;

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::controller::requests_of;
use engine::{
    Action, Change, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    Upstream, finalizer, object, paused,
};
use schemas::cluster::Cluster;
use schemas::ipam::{IPAddress, IPAddressClaim};

use crate::claims::{cluster_name, is_settled};
use crate::creations::Creations;
use crate::ledger::Ledger;
use crate::names::{PROTECT_POOL, UPSTREAM};
use crate::pools::Pool;

/// Index of the claims of a pool for which there is something to do. The names of indexes are those of this provider: others index
/// the same objects by their own pools.
const WAITING: &str = "in-cluster-waiting";
/// Index of the same claims by their Cluster.
const WAITING_BY_CLUSTER: &str = "in-cluster-waiting-cluster";
/// Index of addresses by pool and claim, see [`claim_key`].
const BY_CLAIM: &str = "in-cluster-claim";
/// Index of the addresses of a pool that are being deleted.
const DELETING: &str = "in-cluster-deleting";

struct PoolReconciler<P: Pool> {
    manager: Manager,
    pools: Objects<P>,
    claims: Objects<IPAddressClaim>,
    addresses: Objects<IPAddress>,
    clusters: Objects<Cluster>,
    upstream: Upstream,
    ledger: Arc<Ledger<NamespacedName>>,
    creations: Creations,
}

/// Starts the controller of a kind of pool.
pub fn start<P: Pool>(manager: &Manager, name: &'static str) {
    let this = PoolReconciler::<P> {
        manager: manager.clone(),
        pools: manager.objects(),
        claims: manager.objects(),
        addresses: manager.objects(),
        clusters: manager.objects(),
        upstream: Upstream::new(manager, UPSTREAM),
        ledger: Arc::default(),
        creations: Creations::default(),
    };
    index_claims(&this.claims);
    index_addresses(&this.addresses);
    let ledger = this.ledger.clone();
    this.addresses.subscribe(move |change| {
        for address in change.objects() {
            if let Some(pool) = pool_of_address::<P>(address) {
                ledger.note(P::key(&pool), NamespacedName::of(address.as_ref()));
            }
        }
    });
    let (claims, by_cluster) = (this.claims.clone(), this.claims.clone());
    let (all_pools, all_claims) = (this.pools.clone(), this.claims.clone());
    let all = move || {
        let waiting = all_claims.all();
        let of_claims = waiting.iter().filter_map(|claim| pool_of_claim::<P>(claim));
        distinct(requests_of(&all_pools.all()).into_iter().chain(of_claims))
    };
    Controller::new(manager, name)
        .reconciles(&this.pools)
        .watches(&this.claims, |change| {
            let claim = change.new.iter().filter(|claim| !is_settled(claim));
            claim.filter_map(|claim| pool_of_claim::<P>(claim)).collect()
        })
        .watches(&this.addresses, move |change| of_address::<P>(&claims, change))
        .watches(&this.clusters, move |change| of_cluster::<P>(&by_cluster, change))
        .stands_aside(&this.upstream, all)
        .start(this);
}

/// Adds the indexes of claims. Both kinds of pools share them.
fn index_claims(claims: &Objects<IPAddressClaim>) {
    claims.index(WAITING, |claim| {
        both_keys(&claim.spec.pool_ref, claim).filter(|_| !is_settled(claim)).into_iter().collect()
    });
    claims.index(WAITING_BY_CLUSTER, |claim| {
        let cluster = cluster_name(claim).filter(|_| !is_settled(claim));
        let namespace = claim.metadata.namespace.clone().unwrap_or_default();
        cluster.map(|cluster| NamespacedName::new(namespace, cluster).to_string()).into_iter().collect()
    });
}

/// Adds the indexes of addresses.
fn index_addresses(addresses: &Objects<IPAddress>) {
    addresses.index(BY_CLAIM, |address| {
        let namespace = address.metadata.namespace.as_deref().unwrap_or_default();
        let pool = both_keys(&address.spec.pool_ref, address);
        pool.map(|pool| {
            claim_key(&pool, &NamespacedName::new(namespace, address.spec.claim_ref.name.as_str()))
        })
        .into_iter()
        .collect()
    });
    addresses.index(DELETING, |address| {
        both_keys(&address.spec.pool_ref, address)
            .filter(|_| object::is_deleting(address))
            .into_iter()
            .collect()
    });
}

fn pool_of_claim<P: Pool>(claim: &IPAddressClaim) -> Option<NamespacedName> {
    P::referred(&claim.spec.pool_ref, claim.metadata.namespace.as_deref())
}

fn pool_of_address<P: Pool>(address: &IPAddress) -> Option<NamespacedName> {
    P::referred(&address.spec.pool_ref, address.metadata.namespace.as_deref())
}

/// Returns the key of the pool of either kind that an object refers to.
fn both_keys<K: kube::Resource>(
    reference: &schemas::meta::ContractVersionedObjectReference,
    object: &K,
) -> Option<String> {
    fn key<P: Pool>(
        reference: &schemas::meta::ContractVersionedObjectReference,
        namespace: Option<&str>,
    ) -> Option<String> {
        P::referred(reference, namespace).map(|pool| P::key(&pool))
    }
    let namespace = object.meta().namespace.as_deref();
    key::<schemas::ipam::InClusterIPPool>(reference, namespace)
        .or_else(|| key::<schemas::ipam::GlobalInClusterIPPool>(reference, namespace))
}

/// Returns the key of the address of a claim in [`BY_CLAIM`]. `pool` is the key of the pool.
fn claim_key(pool: &str, claim: &NamespacedName) -> String {
    format!("{pool} {claim}")
}

fn distinct(pools: impl Iterator<Item = NamespacedName>) -> Vec<Request> {
    pools.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the pools of an address that changed, and that of the claim of its name: the claim may wait until it is gone.
fn of_address<P: Pool>(claims: &Objects<IPAddressClaim>, change: &Change<IPAddress>) -> Vec<Request> {
    let claim = claims.get(&change.name()).filter(|claim| !is_settled(claim));
    let waiting = claim.and_then(|claim| pool_of_claim::<P>(&claim));
    distinct(change.objects().filter_map(|address| pool_of_address::<P>(address)).chain(waiting))
}

/// Returns the pools of the claims of a Cluster that appeared, was deleted, or whose `spec.paused` changed.
fn of_cluster<P: Pool>(claims: &Objects<IPAddressClaim>, change: &Change<Cluster>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    let waiting = claims.by_index(WAITING_BY_CLUSTER, &change.name().to_string());
    distinct(waiting.iter().filter_map(|claim| pool_of_claim::<P>(claim)))
}

impl<P: Pool> Reconciler for PoolReconciler<P> {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        if let Some(deployment) = self.upstream.installed() {
            tracing::debug!(pool = %request, %deployment, "left to the upstream provider, which is installed");
            return Ok(Action::done());
        }
        let mut pool = self.pools.get(&request);
        if let Some(found) = &pool {
            if !paused::causes(found.as_ref(), None).is_empty() {
                return Ok(Action::done());
            }
            // The finalizer is there before the first address.
            pool = Some(finalizer::ensure(&self.pools, found, PROTECT_POOL).await?);
        }
        self.look_up_creations(&request).await?;
        let now = self.manager.clock().now();
        let observed = self.observe(request, pool);
        let plan = plan::plan(&observed, now);
        let action = plan.later.map_or_else(Action::done, Action::requeue_after);
        let errors = self.apply(&observed, plan).await;
        Error::aggregate(errors).map(|()| action)
    }
}
