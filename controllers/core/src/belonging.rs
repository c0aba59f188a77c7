//! MachinePools. No controller of this program implements them, but each gets an owner reference to its Cluster,
//! so that it is deleted with the Cluster and `clusterctl move` moves it.

use std::sync::Arc;

use engine::controller::requests_of;
use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::{
    Action, Change, Controller, Descriptor, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    owners, paused,
};
use schemas::cluster::{Cluster, MachinePool};

const BY_CLUSTER_NAME: &str = "spec.clusterName";

struct Belonging {
    pools: Objects<MachinePool>,
    clusters: Objects<Cluster>,
}

/// The descriptor of the controller of MachinePools. It lists no kind, because it does not implement their spec.
pub const MACHINE_POOL: Descriptor =
    Descriptor { name: "machinepool", reconciles: &[], start: |manager, ()| start(manager) };

fn start(manager: &Manager) {
    let (pools, clusters) = (manager.objects::<MachinePool>(), manager.objects::<Cluster>());
    pools.index(BY_CLUSTER_NAME, |pool| {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        vec![NamespacedName::new(namespace, pool.spec.cluster_name.as_str()).to_string()]
    });
    let all = pools.clone();
    Controller::new(manager, MACHINE_POOL.name)
        .reconciles(&pools)
        .watches(&clusters, move |change| of_cluster(&all, change))
        .start(Belonging { pools, clusters });
}

/// Returns the MachinePools of a Cluster that appeared, was deleted, or whose `spec.paused` changed.
fn of_cluster(all: &Objects<MachinePool>, change: &Change<Cluster>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    let found = all.by_index(BY_CLUSTER_NAME, &change.name().to_string());
    requests_of(&found)
}

impl Reconciler for Belonging {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(pool) = self.pools.get(&request) else { return Ok(Action::done()) };
        let name = pool.spec.cluster_name.clone();
        let cluster = self.clusters.get(&NamespacedName::new(request.namespace.as_str(), name.as_str()));
        let Some(cluster) = cluster else { return Ok(Action::done()) };
        if is_deleting(pool.as_ref()) || !paused::causes(pool.as_ref(), Some(&cluster)).is_empty() {
            return Ok(Action::done());
        }
        let mut wanted = pool.as_ref().clone();
        owners::ensure(&mut wanted, owners::reference(cluster.as_ref(), &()));
        wanted.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
        if wanted.metadata != pool.metadata {
            self.pools.patch(&pool, &wanted, &[]).await?;
        }
        Ok(Action::done())
    }
}
