//! The DevMachine controller: a node in a container, its bootstrap, and its Node.

mod apply;
mod bootstrap;
mod data;
pub mod failure_domain;
pub mod node;
mod observe;
pub mod observed;
pub mod plan;
pub mod status;
pub mod steps;
pub mod tasks;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use dev_machine_pools::names::UPSTREAM;
use engine::controller::{infrastructure_requests, requests_of};
use engine::object::label;
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Left, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned, Queue, Request, Result, Upstream, conditions, owners,
};
use k8s_openapi::api::core::v1::{Node, Secret};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::DevMachine;

use crate::names::MACHINE_FINALIZER;
use crate::nodes::Nodes;
use observe::DevMachineController;
use observed::Observed;
use plan::Plan;
pub use steps::import;
use tasks::Tasks;

/// Number of DevMachines that are reconciled at the same time.
const CONCURRENCY: usize = 32;

/// The descriptor of the controller.
pub(crate) const CONTROLLER: Descriptor<Nodes> = Descriptor {
    name: "devmachine-containers",
    reconciles: &[GroupKind::new(DevMachine::GROUP, DevMachine::KIND)],
    start,
};

/// Starts the DevMachine controller.
fn start(manager: &Manager, nodes: &Nodes) {
    let objects = manager.objects::<DevMachine>();
    let secrets = manager.objects::<Secret>();
    let (machines, pools, clusters) = (manager.objects(), manager.objects(), manager.objects());
    let (of_cluster, in_pool, of_secret, all) =
        (objects.clone(), objects.clone(), objects.clone(), objects.clone());
    let upstream = Upstream::new(manager, UPSTREAM);
    let running = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&objects)
        .watches(&machines, infrastructure_requests::<DevMachine>)
        .watches(&pools, move |change| of_pool(change, &in_pool))
        .watches(&clusters, move |change: &Change<Cluster>| {
            requests_of(&of_cluster.by_cluster(&change.name()))
        })
        .watches(&secrets, move |change| of_bootstrap_data(change, &of_secret))
        .stands_aside(&upstream, move || requests_of(&all.all()));
    let controller = DevMachineController {
        tasks: Tasks::new(manager, running.queue()),
        upstream,
        nodes: nodes.clone(),
        manager: manager.clone(),
        objects,
        machines,
        pools,
        clusters,
        secrets,
    };
    watch_nodes(&controller, &running.queue());
    running.start(Frame::new(controller));
}

/// Requests the machines of a MachinePool of which something changed that they take from it.
fn of_pool(change: &Change<MachinePool>, machines: &Objects<DevMachine>) -> Vec<Request> {
    let facts = |pool: &Arc<MachinePool>| {
        let template = &pool.spec.template.spec;
        let data = template.bootstrap.data_secret_name.clone();
        (data, template.version.clone(), pool.spec.failure_domains.clone())
    };
    let Some(pool) = change.new.as_ref().filter(|pool| change.old.as_ref().map(facts) != Some(facts(pool)))
    else {
        return Vec::new();
    };
    let cluster = NamespacedName::new(change.name().namespace, pool.spec.cluster_name.as_str());
    let name = schemas::naming::label_value(&change.name().name);
    let mut machines = machines.by_cluster(&cluster);
    machines.retain(|dev| label(dev.as_ref(), engine::names::POOL_NAME) == Some(name.as_str()));
    requests_of(&machines)
}

/// Requests the machines of the Cluster of a Secret with bootstrap data.
fn of_bootstrap_data(change: &Change<Secret>, machines: &Objects<DevMachine>) -> Vec<Request> {
    let mut secrets =
        change.objects().filter(|secret| secret.data.iter().flatten().any(|(key, _)| key == "value"));
    let cluster = secrets.find_map(|secret| label(secret.as_ref(), engine::names::CLUSTER_NAME));
    let Some(cluster) = cluster else { return Vec::new() };
    requests_of(&machines.by_cluster(&NamespacedName::new(change.name().namespace, cluster)))
}

fn watch_nodes(controller: &DevMachineController, queue: &Arc<Queue>) {
    let (connected, of_node) = (controller.objects.clone(), controller.objects.clone());
    let clusters = controller.manager.clusters();
    clusters.notify(queue, move |cluster| requests_of(&connected.by_cluster(cluster)));
    clusters.watch::<Node>(queue, move |cluster, change| {
        let facts = |node: &Arc<Node>| (node.spec.clone(), node.metadata.deletion_timestamp.clone());
        if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
            return Vec::new();
        }
        requests_of(&of_node.by_cluster(cluster))
    });
}

impl Planned for DevMachineController {
    type Object = DevMachine;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(MACHINE_FINALIZER);
    const OWNED: &'static [&'static str] = status::OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<DevMachine> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn leaves(&self, dev: &DevMachine) -> Option<Left> {
        let backend = &dev.spec.backend;
        match backend.docker.is_none() || backend.in_memory.is_some() {
            true => Some(Left::ToAnotherHere),
            false => self.upstream.left(DevMachine::KIND),
        }
    }

    /// Returns the Cluster of the Machine. Without an owner, the DevMachine waits until the Machine's controller sets the reference.
    fn cluster(&self, dev: &Arc<DevMachine>) -> Membership {
        if owners::find(dev.as_ref(), Machine::GROUP, Machine::KIND).is_none() {
            return Membership::Waits;
        }
        let name = match self.machine_of(dev) {
            Some(machine) => machine.spec.cluster_name.clone(),
            None => label(dev.as_ref(), engine::names::CLUSTER_NAME).unwrap_or_default().to_owned(),
        };
        let namespace = dev.metadata.namespace.clone().unwrap_or_default();
        let cluster = self.clusters.get(&NamespacedName::new(namespace, name));
        cluster.map_or(Membership::Missing(None), Membership::Of)
    }

    async fn forget(&self, request: &Request) {
        self.tasks.forget_all(request).await;
    }

    async fn observe(&self, dev: Arc<DevMachine>, cluster: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        let read = self.read(dev, cluster).await;
        read.map(Some).map_err(|error| Error::failed(format!("{error:#}")))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan::plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<DevMachine> {
        self.execute(observed, plan).await
    }

    fn report(dev: &mut DevMachine, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set_not_ready(dev, errors, now);
    }
}
