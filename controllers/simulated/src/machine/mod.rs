//! The DevMachine controller: a simulated machine, its Node, and for a control plane its static Pods.

mod apply;
pub mod failures;
pub(crate) mod observe;
pub mod observed;
pub mod plan;
mod signal;
mod status;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dev_machine_pools::names::UPSTREAM;
use engine::conditions;
use engine::controller::requests_of;
use engine::initialization;
use engine::object::{annotation, label};
use engine::{
    Change, Controller, Descriptor, Error, Frame, GroupKind, Left, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned, Request, Result, Upstream,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::DevMachine;

use crate::backend::Backend;
use crate::names::{BOOTSTRAPPED, CONTROL_PLANE, MACHINE_FINALIZER};
use observe::{DevMachineController, Read};
use plan::Plan;

/// Conditions that this controller owns.
const OWNED: &[&str] = &[
    "Ready",
    "Paused",
    "VMProvisioned",
    "NodeProvisioned",
    "EtcdProvisioned",
    "APIServerProvisioned",
    failures::CONDITION,
];

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devmachine",
    reconciles: &[GroupKind::new(DevMachine::GROUP, DevMachine::KIND)],
    start,
};

/// Starts the DevMachine controller.
fn start(manager: &Manager, backend: &Backend) {
    let objects = manager.objects::<DevMachine>();
    let machines = manager.objects::<Machine>();
    let pools = manager.objects::<MachinePool>();
    let clusters = manager.objects::<Cluster>();
    let secrets = manager.objects::<Secret>();
    let config_maps = manager.objects::<ConfigMap>();
    let controller = DevMachineController {
        objects: objects.clone(),
        machines: machines.clone(),
        pools: pools.clone(),
        clusters: clusters.clone(),
        secrets: secrets.clone(),
        config_maps: config_maps.clone(),
        upstream: Upstream::new(manager, UPSTREAM),
        backend: backend.clone(),
        manager: manager.clone(),
    };
    let (of_clusters, of_backend, all) = (objects.clone(), objects.clone(), objects.clone());
    let of_signals = objects.clone();
    let running = Controller::new(manager, CONTROLLER.name)
        .reconciles(&objects)
        .watches(&machines, of_machine)
        .watches(&clusters, move |change| of_cluster(change, &of_clusters))
        .watches(&config_maps, move |change| signal::of_config_map(change, &of_signals))
        .stands_aside(&controller.upstream, move || requests_of(&all.all()))
        .reads(&secrets)
        .reads(&pools);
    backend.notify_machines(running.queue(), move |cluster| requests_of(&of_backend.by_cluster(cluster)));
    running.start(Frame::new(controller));
}

/// Returns the DevMachine of a Machine of which something changed that the plan depends on.
fn of_machine(change: &Change<Machine>) -> Vec<Request> {
    let facts = |machine: &Arc<Machine>| {
        let spec = &machine.spec;
        (
            (spec.cluster_name.clone(), spec.infrastructure_ref.clone(), spec.version.clone()),
            spec.bootstrap.data_secret_name.is_some(),
            label(machine.as_ref(), CONTROL_PLANE).is_some(),
            annotation(machine.as_ref(), BOOTSTRAPPED).is_some(),
        )
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    let reference = |machine: &Arc<Machine>| {
        let reference = &machine.spec.infrastructure_ref;
        (reference.kind == DevMachine::KIND).then(|| reference.name.clone())
    };
    let namespace = change.name().namespace;
    let names: BTreeSet<String> = change.objects().filter_map(reference).collect();
    names.into_iter().map(|name| NamespacedName::new(namespace.clone(), name)).collect()
}

/// Returns the DevMachines of a Cluster of which something changed that their plans depend on.
fn of_cluster(change: &Change<Cluster>, machines: &Objects<DevMachine>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| {
        let spec = &cluster.spec;
        (
            spec.paused,
            spec.control_plane_endpoint.clone(),
            initialization::has_infrastructure(cluster),
            observe::is_control_plane_initialized(cluster),
        )
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    requests_of(&machines.by_cluster(&change.name()))
}

impl Planned for DevMachineController {
    type Object = DevMachine;
    type Observed = Read;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(MACHINE_FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<DevMachine> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn leaves(&self, dev: &DevMachine) -> Option<Left> {
        let backend = &dev.spec.backend;
        match backend.in_memory.is_none() {
            true => Some(self.backend.left(DevMachine::KIND, backend.docker.is_some())),
            false => self.upstream.left(DevMachine::KIND),
        }
    }

    fn cluster(&self, dev: &Arc<DevMachine>) -> Membership {
        let machine = self.machine_of(dev);
        machine.and_then(|machine| self.cluster_of(&machine)).map_or(Membership::Waits, Membership::Of)
    }

    async fn while_paused(&self, dev: &mut DevMachine, cluster: Option<&Arc<Cluster>>) -> Result<()> {
        match cluster {
            Some(cluster) => self.bring_back(dev, cluster).await,
            None => Ok(()),
        }
    }

    async fn observe(&self, dev: Arc<DevMachine>, cluster: Option<Arc<Cluster>>) -> Result<Option<Read>> {
        let Some(cluster) = cluster else { return Ok(None) };
        Ok(self.read(dev, cluster).await)
    }

    fn plan(read: &Read, now: DateTime<Utc>) -> Plan {
        plan::plan(&read.observed(), now)
    }

    async fn apply(&self, read: &Read, plan: Plan) -> Outcome<DevMachine> {
        self.execute(read, &plan).await
    }

    /// Reports the error in the condition of the machine.
    fn report(dev: &mut DevMachine, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set_not_ready(dev, errors, now);
    }
}
