//! Reads the objects on which the plan of a DevMachinePool depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::batch::to_create;
use engine::object::{annotation, is_deleting, uid};
use engine::{Manager, NamespacedName, Objects, names, owners};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};

use crate::backend::Backend;
use crate::names::KUBERNETES_VERSION;

/// A DevMachine of the pool.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// The DevMachine.
    pub dev: Arc<DevMachine>,
    /// Its Machine, which the MachinePool's controller creates.
    pub machine: Option<Arc<Machine>>,
}

impl Member {
    /// Returns whether the deletion of the DevMachine or of its Machine has begun.
    pub fn goes(&self) -> bool {
        is_deleting(self.dev.as_ref())
            || self.machine.as_ref().is_some_and(|machine| is_deleting(machine.as_ref()))
    }

    /// Returns whether its Machine is ready.
    pub fn is_ready(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.condition_is_true("Ready"))
    }

    /// Returns the Kubernetes version of its Node.
    pub fn version(&self) -> Option<&str> {
        annotation(self.dev.as_ref(), KUBERNETES_VERSION)
    }
}

/// The state on which the plan of a DevMachinePool depends.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    /// The DevMachinePool.
    pub dev: Arc<DevMachinePool>,
    /// The MachinePool that owns it.
    pub pool: Arc<MachinePool>,
    /// Its Cluster.
    pub cluster: Arc<Cluster>,
    /// Its DevMachines.
    pub members: Vec<Member>,
    /// Machines of the MachinePool whose DevMachine does not exist any more.
    pub orphans: Vec<Arc<Machine>>,
    /// Names for new DevMachines, one for each missing replica.
    pub names: Vec<String>,
}

/// The controller of DevMachinePools.
pub(super) struct DevMachinePoolController {
    pub objects: Objects<DevMachinePool>,
    pub pools: Objects<MachinePool>,
    pub dev_machines: Objects<DevMachine>,
    pub machines: Objects<Machine>,
    pub clusters: Objects<Cluster>,
    pub backend: Backend,
    pub manager: Manager,
}

impl DevMachinePoolController {
    /// Returns the MachinePool that owns a DevMachinePool.
    pub(super) fn pool_of(&self, dev: &DevMachinePool) -> Option<Arc<MachinePool>> {
        let namespace = dev.metadata.namespace.clone().unwrap_or_default();
        let owner = owners::find(dev, MachinePool::GROUP, MachinePool::KIND)?;
        self.pools.get(&NamespacedName::new(namespace, owner.name.as_str()))
    }

    /// Returns the Cluster that a MachinePool belongs to.
    pub(super) fn cluster_of(&self, pool: &MachinePool) -> Option<Arc<Cluster>> {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        self.clusters.get(&NamespacedName::new(namespace, pool.spec.cluster_name.as_str()))
    }

    /// Reads the state for the plan of `dev`; `None` if its MachinePool does not exist.
    pub(super) fn read(&self, dev: Arc<DevMachinePool>, cluster: Arc<Cluster>) -> Option<Observed> {
        let pool = self.pool_of(&dev)?;
        let machines = self.machines.by_owner(uid(pool.as_ref()));
        let found = self.dev_machines.by_owner(uid(dev.as_ref()));
        let by_name: BTreeMap<&str, &Arc<Machine>> = machines
            .iter()
            .filter_map(|machine| Some((machine.metadata.name.as_deref()?, machine)))
            .collect();
        let machine_of = |dev: &DevMachine| by_name.get(dev.metadata.name.as_deref()?).copied().cloned();
        let members: Vec<Member> =
            found.into_iter().map(|dev| Member { machine: machine_of(&dev), dev }).collect();
        let is_orphan = |machine: &&Arc<Machine>| {
            machine.spec.infrastructure_ref.kind == DevMachine::KIND
                && self.dev_machines.get(&NamespacedName::of(machine.as_ref())).is_none()
        };
        let orphans = machines.iter().filter(is_orphan).cloned().collect();
        let present = members.iter().filter(|member| !member.goes()).count();
        let missing = to_create(pool.spec.replicas.unwrap_or(1), present);
        let base = dev.metadata.name.as_deref().unwrap_or_default();
        let names = (0..missing).map(|_| names::generate(self.manager.random(), base)).collect();
        Some(Observed { dev, pool, cluster, members, orphans, names })
    }
}
