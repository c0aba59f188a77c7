//! The DevCluster controller. The shared infrastructure of a simulated cluster is the port of its API server.

mod apply;
mod observe;
mod observed;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dev_machine_pools::names::UPSTREAM;
use engine::conditions;
use engine::controller::requests_of;
use engine::object::{is_deleting, label};
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Left, Manager, Membership, Objects, Outcome,
    Planned, Request, Result, Upstream, owners,
};
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachine};

use crate::backend::Backend;
use crate::names::CLUSTER_FINALIZER;
use crate::workload::part::Part;
use observe::DevClusterController;
use observed::Observed;
use plan::Plan;

/// Index of DevClusters by the Cluster that owns them.
const BY_OWNER_NAME: &str = "owner-name";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devcluster",
    reconciles: &[GroupKind::new(DevCluster::GROUP, DevCluster::KIND)],
    start,
};

/// Starts the DevCluster controller.
fn start(manager: &Manager, backend: &Backend) {
    let objects = manager.objects::<DevCluster>();
    let clusters = manager.objects::<Cluster>();
    let machines = manager.objects::<DevMachine>();
    let controller = DevClusterController {
        objects: objects.clone(),
        clusters: clusters.clone(),
        machines: machines.clone(),
        unserved: Mutex::default(),
        upstream: Upstream::new(manager, UPSTREAM),
        backend: backend.clone(),
        manager: manager.clone(),
    };
    objects
        .index(BY_OWNER_NAME, |dev| owners::named::<Cluster>(dev).iter().map(ToString::to_string).collect());
    let (of_clusters, of_machines, all) = (objects.clone(), objects.clone(), objects.clone());
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&objects)
        .watches(&clusters, move |change| of_cluster(change, &of_clusters))
        .watches(&machines, move |change| of_machine(change, &of_machines))
        .stands_aside(&controller.upstream, move || requests_of(&all.all()))
        .start(Frame::new(controller));
}

/// Returns the DevCluster of a Cluster of which something changed that the plan depends on.
fn of_cluster(change: &Change<Cluster>, objects: &Objects<DevCluster>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| (cluster.spec.paused, cluster.metadata.annotations.clone());
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    requests_of(&objects.by_index(BY_OWNER_NAME, &change.name().to_string()))
}

/// Returns the DevCluster of a machine whose API server, or whose part in the cluster, came or went.
fn of_machine(change: &Change<DevMachine>, objects: &Objects<DevCluster>) -> Vec<Request> {
    let facts = |dev: &Arc<DevMachine>| {
        let runs = |part: Part| dev.condition_is_true(part.condition());
        (runs(Part::Node), runs(Part::ApiServer), is_deleting(dev.as_ref()))
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    let namespace = change.name().namespace;
    let clusters = change.objects().filter_map(|dev| label(dev.as_ref(), engine::names::CLUSTER_NAME));
    let clusters: BTreeSet<&str> = clusters.collect();
    let of_cluster =
        |name: &&str| requests_of(&objects.by_index(BY_OWNER_NAME, &format!("{namespace}/{name}")));
    clusters.iter().flat_map(of_cluster).collect()
}

impl Planned for DevClusterController {
    type Object = DevCluster;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(CLUSTER_FINALIZER);
    const OWNED: &'static [&'static str] = &["Paused", "Ready"];

    fn objects(&self) -> &Objects<DevCluster> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn leaves(&self, dev: &DevCluster) -> Option<Left> {
        let backend = &dev.spec.backend;
        match backend.in_memory.is_none() {
            true => Some(self.backend.left(DevCluster::KIND, backend.docker.is_some())),
            false => self.upstream.left(DevCluster::KIND),
        }
    }

    /// Returns the Cluster that owns the DevCluster. Without an owner, the DevCluster waits until the Cluster's controller sets the
    /// reference.
    fn cluster(&self, dev: &Arc<DevCluster>) -> Membership {
        let Some(name) = owners::named::<Cluster>(dev.as_ref()) else { return Membership::Waits };
        self.clusters.get(&name).map_or(Membership::None, Membership::Of)
    }

    async fn forget(&self, request: &Request) {
        self.unserved.lock().remove(request);
        self.forget_clusters(&request.namespace).await;
    }

    async fn while_paused(&self, wanted: &mut DevCluster, cluster: Option<&Arc<Cluster>>) -> Result<()> {
        self.hand_over(wanted, cluster.map(AsRef::as_ref)).await?;
        self.bring_back(wanted, cluster.map(AsRef::as_ref)).await
    }

    async fn observe(&self, dev: Arc<DevCluster>, cluster: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        Ok(self.read(dev, cluster).await)
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan::plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<DevCluster> {
        self.execute(observed, plan).await
    }

    /// Reports the error in the condition `Ready`.
    fn report(dev: &mut DevCluster, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set_not_ready(dev, errors, now);
    }
}
