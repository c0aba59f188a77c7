//! Reads the objects on which the plan of a DevMachine depends.

use std::sync::Arc;

use engine::initialization;
use engine::object::{annotation, is_deleting, label, uid};
use engine::{Manager, NamespacedName, Objects, Upstream, owners};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::DevMachine;

use super::failures::{Draw, is_draw_due};
use super::observed::Observed;
use super::signal::{self, Signal};
use crate::backend::Backend;
use crate::names::{BOOTSTRAPPED, CONTROL_PLANE};
use crate::workload::Workload;
use crate::workload::part::Part;

/// The controller of DevMachines.
pub(super) struct DevMachineController {
    pub objects: Objects<DevMachine>,
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub clusters: Objects<Cluster>,
    pub secrets: Objects<Secret>,
    pub config_maps: Objects<ConfigMap>,
    pub upstream: Upstream,
    pub backend: Backend,
    pub manager: Manager,
}

/// A DevMachine and the objects that belong to it.
pub(super) struct Read {
    /// The DevMachine.
    pub dev: Arc<DevMachine>,
    /// Its Machine.
    pub machine: Arc<Machine>,
    /// The MachinePool that owns its Machine.
    pub pool: Option<Arc<MachinePool>>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// The Cluster's name.
    pub name: NamespacedName,
    /// The workload cluster, if it runs.
    pub workload: Option<Arc<Workload>>,
    /// Whether the machine belongs to the control plane.
    pub control_plane: bool,
    /// The signal that its bootstrap waits for.
    pub signal: Option<Signal>,
    /// Random numbers, if a failure is to be drawn.
    pub draw: Option<Draw>,
}

impl Read {
    /// Returns the Kubernetes version of the Node. The Machine of a MachinePool has none before its Node exists.
    pub(super) fn version(&self) -> String {
        let of_pool = || self.pool.as_ref()?.spec.template.spec.version.clone();
        self.machine.spec.version.clone().or_else(of_pool).unwrap_or_default()
    }

    /// Returns the facts on which the plan depends.
    pub(super) fn observed(&self) -> Observed<'_> {
        Observed {
            uid: uid(self.dev.as_ref()),
            is_deleting: is_deleting(self.dev.as_ref()),
            backend: self.dev.spec.backend.in_memory.as_ref(),
            conditions: self.dev.conditions(),
            control_plane: self.control_plane,
            has_bootstrap_data: self.machine.spec.bootstrap.data_secret_name.is_some(),
            infrastructure_provisioned: initialization::has_infrastructure(&self.cluster),
            control_plane_initialized: is_control_plane_initialized(&self.cluster),
            bootstrapped: annotation(self.machine.as_ref(), BOOTSTRAPPED).is_some(),
            annotations: self.dev.metadata.annotations.as_ref(),
            signal: self.signal.as_ref().map(|signal| signal.is_given),
            draw: self.draw,
        }
    }
}

/// Returns whether a simulated machine is one of its cluster's Nodes, and stays.
pub(crate) fn has_node(dev: &DevMachine) -> bool {
    dev.spec.backend.in_memory.is_some() && !is_deleting(dev) && dev.condition_is_true(Part::Node.condition())
}

/// Returns whether the control plane of a Cluster is initialized.
pub(super) fn is_control_plane_initialized(cluster: &Cluster) -> bool {
    cluster.condition_is_true("ControlPlaneInitialized")
}

impl DevMachineController {
    /// Returns the Machine that owns a DevMachine.
    pub(super) fn machine_of(&self, dev: &DevMachine) -> Option<Arc<Machine>> {
        self.machines.get(&owners::named::<Machine>(dev)?)
    }

    /// Returns the Cluster that a Machine belongs to.
    pub(super) fn cluster_of(&self, machine: &Machine) -> Option<Arc<Cluster>> {
        let namespace = machine.metadata.namespace.clone().unwrap_or_default();
        self.clusters.get(&NamespacedName::new(namespace, machine.spec.cluster_name.clone()))
    }

    fn draw(&self) -> Draw {
        let random = self.manager.random();
        Draw { chance: random.fraction(), failure: random.fraction(), time: random.fraction() }
    }

    /// Reads the state for the plan of `dev`; `None` if it has no Machine yet.
    pub(super) async fn read(&self, dev: Arc<DevMachine>, cluster: Arc<Cluster>) -> Option<Read> {
        let machine = self.machine_of(&dev)?;
        let pool = owners::named::<MachinePool>(machine.as_ref()).and_then(|name| self.pools.get(&name));
        let name = NamespacedName::of(cluster.as_ref());
        let control_plane = label(machine.as_ref(), CONTROL_PLANE).is_some();
        let workload = self.backend.get(&name).await;
        let draw = is_draw_due(dev.metadata.annotations.as_ref()).then(|| self.draw());
        let signal = signal::read(&self.config_maps, &dev);
        Some(Read { dev, machine, pool, cluster, name, workload, control_plane, signal, draw })
    }
}
