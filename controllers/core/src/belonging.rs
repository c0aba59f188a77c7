//! MachineHealthChecks and MachinePools. No controller of this program implements them, but each gets an
//! owner reference to its Cluster, so that it is deleted with the Cluster and `clusterctl move` moves it.

use std::sync::Arc;

use engine::controller::requests_of;
use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::{
    Action, Change, Controller, Descriptor, Kind, Manager, NamespacedName, Objects, Reconciler, Request,
    Result, owners, paused,
};
use schemas::cluster::{Cluster, MachineHealthCheck, MachinePool};

const BY_CLUSTER_NAME: &str = "spec.clusterName";

struct Belonging<K: Kind> {
    objects: Objects<K>,
    clusters: Objects<Cluster>,
    cluster_name: fn(&K) -> &str,
}

/// The descriptor of the controller of MachineHealthChecks. It lists no kind, because it does not implement their spec.
pub const MACHINE_HEALTH_CHECK: Descriptor = Descriptor {
    name: "machinehealthcheck",
    reconciles: &[],
    start: |manager, ()| {
        start::<MachineHealthCheck>(manager, MACHINE_HEALTH_CHECK.name, |check| &check.spec.cluster_name);
    },
};
/// The descriptor of the controller of MachinePools. It lists no kind, because it does not implement their spec.
pub const MACHINE_POOL: Descriptor = Descriptor {
    name: "machinepool",
    reconciles: &[],
    start: |manager, ()| start::<MachinePool>(manager, MACHINE_POOL.name, |pool| &pool.spec.cluster_name),
};

fn start<K>(manager: &Manager, name: &'static str, cluster_name: fn(&K) -> &str)
where
    K: Kind<DynamicType = ()> + PartialEq,
{
    let (objects, clusters) = (manager.objects::<K>(), manager.objects::<Cluster>());
    objects.index(BY_CLUSTER_NAME, move |object| {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        vec![NamespacedName::new(namespace, cluster_name(object)).to_string()]
    });
    let all = objects.clone();
    Controller::new(manager, name)
        .reconciles(&objects)
        .watches(&clusters, move |change| of_cluster(&all, change))
        .start(Belonging { objects, clusters, cluster_name });
}

/// Returns the objects of a Cluster that appeared, was deleted, or whose `spec.paused` changed.
fn of_cluster<K: Kind>(all: &Objects<K>, change: &Change<Cluster>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    let found = all.by_index(BY_CLUSTER_NAME, &change.name().to_string());
    requests_of(&found)
}

impl<K: Kind<DynamicType = ()> + PartialEq> Reconciler for Belonging<K> {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(object) = self.objects.get(&request) else { return Ok(Action::done()) };
        let name = (self.cluster_name)(&object).to_owned();
        let cluster = self.clusters.get(&NamespacedName::new(request.namespace.as_str(), name.as_str()));
        let Some(cluster) = cluster else { return Ok(Action::done()) };
        if is_deleting(object.as_ref()) || !paused::causes(object.as_ref(), Some(&cluster)).is_empty() {
            return Ok(Action::done());
        }
        let mut wanted = object.as_ref().clone();
        owners::ensure(&mut wanted, owners::reference(cluster.as_ref(), &()));
        wanted.meta_mut().labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
        if wanted.meta() != object.meta() {
            self.objects.patch(&object, &wanted, &[]).await?;
        }
        Ok(Action::done())
    }
}
