//! Reads the objects on which the plan of a DevMachinePool depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::batch::to_create;
use engine::object::{label, uid};
use engine::{Left, Manager, NamespacedName, Objects, Upstream, names as engine_names, owners};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};
use schemas::naming;

use crate::backend::Backend;
use crate::observed::Observed;

/// The controller of DevMachinePools.
pub(crate) struct DevMachinePoolController {
    pub objects: Objects<DevMachinePool>,
    pub pools: Objects<MachinePool>,
    pub dev_machines: Objects<DevMachine>,
    pub machines: Objects<Machine>,
    pub clusters: Objects<Cluster>,
    pub backend: &'static dyn Backend,
    pub leaves: Leaves,
    pub upstream: Upstream,
    pub manager: Manager,
}

/// Says to whom a DevMachinePool is left; `None` if it is the controller's own.
pub(crate) type Leaves = Box<dyn Fn(&DevMachinePool) -> Option<Left> + Send + Sync>;

impl DevMachinePoolController {
    /// Returns the MachinePool that owns a DevMachinePool.
    pub(crate) fn pool_of(&self, dev: &DevMachinePool) -> Option<Arc<MachinePool>> {
        self.pools.get(&owners::named::<MachinePool>(dev)?)
    }

    /// Returns the Cluster that a MachinePool belongs to.
    pub(crate) fn cluster_of(&self, pool: &MachinePool) -> Option<Arc<Cluster>> {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        self.clusters.get(&NamespacedName::new(namespace, pool.spec.cluster_name.as_str()))
    }

    /// Reads the state for the plan of `dev`; `None` if its MachinePool does not exist.
    pub(crate) fn read(&self, dev: Arc<DevMachinePool>, cluster: Arc<Cluster>) -> Option<Observed> {
        let pool = self.pool_of(&dev)?;
        let machines = self.machines.by_owner(uid(pool.as_ref()));
        let found = self.machines_of(&dev, &pool, &cluster);
        let by_name: BTreeMap<&str, &Arc<Machine>> = machines
            .iter()
            .filter_map(|machine| Some((machine.metadata.name.as_deref()?, machine)))
            .collect();
        let machine_of = |dev: &DevMachine| by_name.get(dev.metadata.name.as_deref()?).copied().cloned();
        let members = found.into_iter().map(|dev| (dev.clone(), machine_of(&dev))).collect();
        let is_orphan = |machine: &&Arc<Machine>| {
            machine.spec.infrastructure_ref.kind == DevMachine::KIND
                && self.dev_machines.get(&NamespacedName::of(machine.as_ref())).is_none()
        };
        let orphans = machines.iter().filter(is_orphan).cloned().collect();
        let observed = Observed::new(self.backend, (dev, pool, cluster), members);
        let names = self.names(&observed);
        Some(Observed { orphans, names, ..observed })
    }

    /// Returns the DevMachines that the DevMachinePool owns, and those that it made and whose owner reference is lost, as after a restore from
    /// a backup: the label says of which MachinePool they are.
    fn machines_of(
        &self,
        dev: &DevMachinePool,
        pool: &MachinePool,
        cluster: &Cluster,
    ) -> Vec<Arc<DevMachine>> {
        let mut found = self.dev_machines.by_owner(uid(dev));
        let of_cluster = self.dev_machines.by_cluster(&NamespacedName::of(cluster)).into_iter();
        found.extend(of_cluster.filter(|machine| {
            !owners::is_owned_by(machine.as_ref(), uid(dev)) && is_lost(machine, dev, pool)
        }));
        found
    }

    /// Returns a name for each missing machine, or for the one that is created before another is replaced.
    fn names(&self, observed: &Observed) -> Vec<String> {
        let present = observed.members.iter().filter(|member| !member.goes()).count();
        let missing = to_create(observed.pool.spec.replicas.unwrap_or(1), present);
        let count = missing.max(usize::from(observed.is_replacing()));
        let base = observed.dev.metadata.name.as_deref().unwrap_or_default();
        (0..count).map(|_| engine_names::generate(self.manager.random(), base)).collect()
    }
}

/// Returns whether a DevMachine that `dev` does not own is of its MachinePool, and of no other DevMachinePool.
pub(crate) fn is_lost(machine: &DevMachine, dev: &DevMachinePool, pool: &MachinePool) -> bool {
    let owner = owners::find(machine, DevMachinePool::GROUP, DevMachinePool::KIND);
    is_labelled(machine, pool) && owner.is_none_or(|owner| Some(&owner.name) == dev.metadata.name.as_ref())
}

/// Returns whether the label of a DevMachine names a MachinePool.
pub(crate) fn is_labelled(machine: &DevMachine, pool: &MachinePool) -> bool {
    label(machine, engine_names::POOL_NAME)
        .is_some_and(|name| name == naming::label_value(pool.metadata.name.as_deref().unwrap_or_default()))
}
