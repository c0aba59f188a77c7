//! The DevCluster controller. The shared infrastructure of a cluster is the load balancer of its API servers.

mod apply;
mod observe;
mod observed;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dev_machine_pools::names::UPSTREAM;
use engine::controller::requests_of;
use engine::object::label;
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Left, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned, Request, Result, Upstream, conditions, owners,
};
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{DevCluster, DevMachine};

use crate::names::CLUSTER_FINALIZER;
use crate::nodes::Nodes;
use observe::{DevClusterController, facts};
use observed::Observed;
use plan::Plan;

/// The descriptor of the controller.
pub(crate) const CONTROLLER: Descriptor<Nodes> = Descriptor {
    name: "devcluster-containers",
    reconciles: &[GroupKind::new(DevCluster::GROUP, DevCluster::KIND)],
    start,
};

/// Starts the DevCluster controller.
fn start(manager: &Manager, nodes: &Nodes) {
    let controller = DevClusterController {
        objects: manager.objects(),
        clusters: manager.objects(),
        machines: manager.objects(),
        dev_machines: manager.objects(),
        upstream: Upstream::new(manager, UPSTREAM),
        nodes: nodes.clone(),
        manager: manager.clone(),
    };
    let objects = controller.objects.clone();
    let (of_cluster, of_machine, of_dev, all) = (objects.clone(), objects.clone(), objects.clone(), objects);
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&controller.objects)
        .watches(&controller.clusters, move |change: &Change<Cluster>| owned_by(&of_cluster, &change.name()))
        .watches(&controller.machines, move |change| going(change, &of_machine))
        .watches(&controller.dev_machines, move |change| of_member(change, &of_dev))
        .stands_aside(&controller.upstream, move || requests_of(&all.all()))
        .start(Frame::new(controller));
}

/// Returns the DevClusters of a Cluster.
pub(crate) fn owned_by(objects: &Objects<DevCluster>, cluster: &NamespacedName) -> Vec<Request> {
    let mut owned = objects.in_namespace(&cluster.namespace);
    owned.retain(|dev| owners::named::<Cluster>(dev.as_ref()).as_ref() == Some(cluster));
    requests_of(&owned)
}

/// Returns the DevCluster of a Machine whose deletion has begun: its server gets no new connections.
fn going(change: &Change<Machine>, objects: &Objects<DevCluster>) -> Vec<Request> {
    let goes = |machine: &Arc<Machine>| machine.metadata.deletion_timestamp.is_some();
    let (old, new) = (change.old.as_ref().map(goes), change.new.as_ref().map(goes));
    let Some(machine) = change.new.as_ref().filter(|_| old != new) else { return Vec::new() };
    let cluster = NamespacedName::new(change.name().namespace, machine.spec.cluster_name.as_str());
    owned_by(objects, &cluster)
}

/// Returns the DevCluster of a machine whose address came or went.
fn of_member(change: &Change<DevMachine>, objects: &Objects<DevCluster>) -> Vec<Request> {
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    let clusters = change.objects().filter_map(|dev| label(dev.as_ref(), engine::names::CLUSTER_NAME));
    let clusters: BTreeSet<&str> = clusters.collect();
    let namespace = change.name().namespace;
    let of = |name: &&str| owned_by(objects, &NamespacedName::new(namespace.as_str(), *name));
    clusters.iter().flat_map(of).collect()
}

impl Planned for DevClusterController {
    type Object = DevCluster;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(CLUSTER_FINALIZER);
    const OWNED: &'static [&'static str] = &["Paused", "Ready", "LoadBalancerAvailable"];

    fn objects(&self) -> &Objects<DevCluster> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn leaves(&self, dev: &DevCluster) -> Option<Left> {
        let backend = &dev.spec.backend;
        match backend.docker.is_none() || backend.in_memory.is_some() {
            true => Some(Left::ToAnotherHere),
            false => self.upstream.left(DevCluster::KIND),
        }
    }

    /// Returns the Cluster that owns the DevCluster. Without an owner, the DevCluster waits until the Cluster's controller sets the
    /// reference.
    fn cluster(&self, dev: &Arc<DevCluster>) -> Membership {
        let Some(name) = owners::named::<Cluster>(dev.as_ref()) else { return Membership::Waits };
        self.clusters.get(&name).map_or(Membership::Missing(None), Membership::Of)
    }

    async fn observe(&self, dev: Arc<DevCluster>, cluster: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        self.read(dev, cluster).await.map_err(|error| Error::failed(format!("{error:#}")))
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
