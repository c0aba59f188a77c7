//! The Cluster controller.

mod counters;
mod deletion;
mod grace;
mod kubeconfig;
mod observe;
mod observed;
mod plan;
mod progress;
mod status;
mod sums;
mod v1beta1;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::{change_key, reference_key};
use engine::in_place::SharedUpdater;
use engine::names::CLUSTER_NAME;
use engine::object::label;
use engine::steps::perform;
use engine::{
    Change, Controller, Descriptor, Error, External, Frame, GroupKind, Kind, Manager, Membership,
    NamespacedName, Objects, Outcome, Planned, Request, Result,
};
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::{Cluster, ClusterClass};

pub use observed::Observed;
pub use plan::{FINALIZER, Plan, plan};

use crate::change::report;
use observe::{ClusterController, class_name};

/// Conditions that this controller owns.
const OWNED: &[&str] = &[
    "Available",
    "RemoteConnectionProbe",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
    "Paused",
    "Deleting",
];
const BY_REFERENCE: &str = "reference";
/// Index of Clusters by their ClusterClass.
const BY_CLASS: &str = "class of the topology";
const CONCURRENCY: usize = 50;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "cluster",
    reconciles: &[GroupKind::new(Cluster::GROUP, Cluster::KIND)],
    start: |manager, _| start(manager),
};

/// Starts the Cluster controller.
fn start(manager: &Manager) {
    let clusters = manager.objects::<Cluster>();
    clusters.index(BY_REFERENCE, |cluster| {
        let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
        let references = [&cluster.spec.infrastructure_ref, &cluster.spec.control_plane_ref];
        references.into_iter().flatten().map(|reference| reference_key(namespace, reference)).collect()
    });
    clusters
        .index(BY_CLASS, |cluster| class_name(cluster).map(|class| class.to_string()).into_iter().collect());
    let (classes, of_class) = (manager.objects::<ClusterClass>(), clusters.clone());
    let (machines, deployments, sets) = (manager.objects(), manager.objects(), manager.objects());
    let pools = manager.objects();
    let secrets = manager.objects::<Secret>();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&clusters)
        .watches(&classes, move |change| with_other_gates(change, &of_class))
        .watches(&machines, by_label)
        .watches(&deployments, by_label)
        .watches(&sets, by_label)
        .watches(&pools, by_label)
        .watches(&secrets, without_control_plane(&clusters));
    let queue = controller.queue();
    manager.clusters().notify(&queue, |cluster| vec![cluster.clone()]);
    let referring = clusters.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let referring = referring.by_index(BY_REFERENCE, &change_key(resource, change));
        requests_of(&referring)
    });
    let recorder = manager.recorder("cluster-controller");
    let manager = manager.clone();
    controller.start(Frame::new(ClusterController {
        manager,
        clusters,
        classes,
        machines,
        deployments,
        sets,
        pools,
        secrets,
        external,
        recorder,
    }));
}

/// Returns the Cluster that the object's cluster-name label names.
fn by_label<K: Kind>(change: &Change<K>) -> Vec<Request> {
    let clusters = change.objects().filter_map(|object| {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        Some(NamespacedName::new(namespace, label(object.as_ref(), CLUSTER_NAME)?))
    });
    let mut requests: Vec<Request> = clusters.collect();
    requests.dedup();
    requests
}

/// Returns the Clusters of a class of which the availability gates changed.
fn with_other_gates(change: &Change<ClusterClass>, clusters: &Objects<Cluster>) -> Vec<Request> {
    let gates = |class: &Arc<ClusterClass>| class.spec.availability_gates.clone();
    if change.old.as_ref().map(gates) == change.new.as_ref().map(gates) {
        return Vec::new();
    }
    requests_of(&clusters.by_index(BY_CLASS, &change.name().to_string()))
}

/// Requests the Cluster of a changed Secret if it has no control plane object: this controller creates its
/// kubeconfig as soon as its certificate authority exists.
fn without_control_plane(clusters: &Objects<Cluster>) -> impl Fn(&Change<Secret>) -> Vec<Request> + use<> {
    let clusters = clusters.clone();
    move |change| {
        let mut requests = by_label(change);
        requests.retain(|request| {
            clusters.get(request).is_some_and(|cluster| cluster.spec.control_plane_ref.is_none())
        });
        requests
    }
}

impl Planned for ClusterController {
    type Object = Cluster;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<Cluster> {
        &self.clusters
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, cluster: &Arc<Cluster>) -> Membership {
        Membership::Of(cluster.clone())
    }

    async fn observe(&self, cluster: Arc<Cluster>, _: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        Ok(Some(self.read(cluster).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<Cluster> {
        perform(self, observed, plan).await
    }

    fn report(cluster: &mut Cluster, errors: &[&Error], _: DateTime<Utc>) {
        report(cluster, &["Deleting"], errors);
    }

    fn observed_generation(cluster: &mut Cluster) -> Option<&mut Option<i64>> {
        Some(&mut cluster.status.get_or_insert_default().observed_generation)
    }
}
