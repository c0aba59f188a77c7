//! The controller of IPPools: it allocates and releases the addresses of all claims of a pool, one pool at a time.

mod apply;
mod observe;
pub mod observed;
pub mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster_ipam::ledger::Ledger;
use engine::controller::requests_of;
use engine::{
    Action, Change, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    finalizer, object, paused,
};
use kube::Resource;
use schemas::cluster::Cluster;
use schemas::ipam::IPAddressClaim;
use schemas::metal3_ipam::{IPClaim, IPPool};

use crate::ipam::claims::{Address, Api, Claim, is_settled};
use crate::ipam::names::POOL_FINALIZER;

/// Index of pools by their Cluster.
const BY_CLUSTER_NAME: &str = "spec.clusterName";
/// Index of the claims of a pool for which there is something to do.
const UNSETTLED: &str = "unsettled";
/// Index of addresses by their pool.
const BY_POOL: &str = "pool";
/// Index of addresses by pool and claim, see [`claim_key`].
const BY_CLAIM: &str = "pool-claim";
/// Index of the addresses of a pool that are being deleted.
const DELETING: &str = "deleting";

/// The taken addresses, with API and name of each address object.
type AddressLedger = Ledger<(Api, String)>;

/// Claims and addresses of one API.
struct Side<C: Claim> {
    claims: Objects<C>,
    addresses: Objects<C::Address>,
}

struct PoolReconciler {
    manager: Manager,
    pools: Objects<IPPool>,
    clusters: Objects<Cluster>,
    metal3: Side<IPClaim>,
    cluster_api: Side<IPAddressClaim>,
    ledger: Arc<AddressLedger>,
}

/// Starts the controller.
pub fn start(manager: &Manager) {
    let ledger = Arc::<AddressLedger>::default();
    let this = PoolReconciler {
        manager: manager.clone(),
        pools: manager.objects(),
        clusters: manager.objects(),
        metal3: Side::new(manager, &ledger),
        cluster_api: Side::new(manager, &ledger),
        ledger,
    };
    this.pools.index(BY_CLUSTER_NAME, |pool| {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        cluster_name(pool).map(|name| NamespacedName::new(namespace, name).to_string()).into_iter().collect()
    });
    let pools = this.pools.clone();
    let controller = Controller::new(manager, "ippool")
        .reconciles(&this.pools)
        .watches(&this.clusters, move |change| of_cluster(&pools, change));
    let controller = this.metal3.watched(controller);
    this.cluster_api.watched(controller).start(this);
}

impl<C: Claim> Side<C> {
    fn new(manager: &Manager, ledger: &Arc<AddressLedger>) -> Self {
        let side = Self { claims: manager.objects::<C>(), addresses: manager.objects::<C::Address>() };
        side.claims.index(UNSETTLED, |claim| {
            let pool = claim.pool().filter(|_| !is_settled(claim));
            pool.map(|pool| pool.to_string()).into_iter().collect()
        });
        side.addresses.index(BY_POOL, |address| text(address.pool()));
        side.addresses.index(BY_CLAIM, |address| {
            address.pool().map(|pool| claim_key(&pool, address.claim())).into_iter().collect()
        });
        side.addresses
            .index(DELETING, |address| text(address.pool().filter(|_| object::is_deleting(address))));
        let ledger = ledger.clone();
        side.addresses.subscribe(move |change| {
            for address in change.objects() {
                let name = address.meta().name.as_deref().unwrap_or_default();
                let groups = address
                    .pool()
                    .map(|pool| pool.to_string())
                    .into_iter()
                    .chain(name_prefix(address.as_ref()));
                groups.for_each(|group| ledger.note(group, (C::API, name.to_owned())));
            }
        });
        side
    }

    /// Reconciles the pools of changed claims and addresses. What a reconcile itself has done for a claim needs no other one: the
    /// reconcile that gave an address comes back when the status is due.
    fn watched(&self, controller: Controller) -> Controller {
        controller
            .watches(&self.claims, |change| {
                let claim = change.new.iter().filter(|claim| !is_settled(claim.as_ref()));
                claim.filter_map(|claim| claim.pool()).collect()
            })
            .watches(&self.addresses, |change| {
                let is_new = change.old.is_none() && change.new.as_ref().is_some_and(|new| !is_deleting(new));
                let objects = change.objects().filter(|_| !is_new);
                distinct(objects.filter_map(|address| address.pool()))
            })
    }
}

fn text(pool: Option<NamespacedName>) -> Vec<String> {
    pool.map(|pool| pool.to_string()).into_iter().collect()
}

/// Returns the key of the address of a claim in [`BY_CLAIM`].
fn claim_key(pool: &NamespacedName, claim: &str) -> String {
    format!("{pool}/{claim}")
}

fn distinct(pools: impl Iterator<Item = NamespacedName>) -> Vec<Request> {
    pools.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the key of the prefix in the name of an address, see [`prefix_key`].
fn name_prefix<A: Address>(address: &A) -> Option<String> {
    let parsed = address.text().parse().ok()?;
    let name = address.meta().name.as_deref()?;
    let prefix = name.strip_suffix(&crate::ipam::claims::address_name("", parsed))?;
    Some(prefix_key(address.meta().namespace.as_deref().unwrap_or_default(), prefix))
}

/// Returns the group of a name prefix in the ledger. Two pools with one prefix share the names of addresses, and therefore the addresses.
fn prefix_key(namespace: &str, prefix: &str) -> String {
    // No name of a pool contains a blank.
    format!("{namespace}/{prefix} ")
}

/// Returns the name of the Cluster of a pool.
fn cluster_name(pool: &IPPool) -> Option<&str> {
    pool.spec.cluster_name.as_deref().filter(|name| !name.is_empty())
}

/// Returns the pools of a Cluster that appeared, was deleted, or whose `spec.paused` changed.
fn of_cluster(pools: &Objects<IPPool>, change: &Change<Cluster>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    let found = pools.by_index(BY_CLUSTER_NAME, &change.name().to_string());
    requests_of(&found)
}

impl Reconciler for PoolReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let (mut pool, mut cluster) = (self.pools.get(&request), None);
        if let Some(found) = &pool {
            cluster = cluster_name(found)
                .and_then(|name| self.clusters.get(&NamespacedName::new(request.namespace.as_str(), name)));
            if !paused::causes(found.as_ref(), cluster.as_deref()).is_empty() {
                return Ok(Action::done());
            }
            // The finalizer is there before the first address.
            pool = Some(finalizer::ensure(&self.pools, found, POOL_FINALIZER).await?);
        }
        let now = self.manager.clock().now();
        let observed = self.observe(request, pool, cluster, now);
        let plan = plan::plan(&observed, now);
        let action = plan.later.map_or_else(Action::done, Action::requeue_after);
        let errors = self.apply(&observed, plan).await;
        Error::aggregate(errors).map(|()| action)
    }
}

/// Returns whether an object is being deleted, for a shared object.
fn is_deleting<K: engine::Kind>(object: &Arc<K>) -> bool {
    object::is_deleting(object.as_ref())
}
