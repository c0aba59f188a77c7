//! The DevMachinePool controller: it keeps a DevMachine for each machine of a MachinePool.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions;
use engine::controller::requests_of;
use engine::object::{label, uid};
use engine::{
    Change, Controller, Error, Frame, Left, Manager, Membership, NamespacedName, Objects, Outcome, Planned,
    Request, Result, Upstream, owners,
};
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::infrastructure::{DevMachine, DevMachinePool};

use crate::backend::Backend;
use crate::names::{FINALIZER, UPSTREAM};
use crate::observe::{DevMachinePoolController, is_labelled};
use crate::observed::Observed;
use crate::plan::{self, Plan};

/// Conditions that this controller owns.
const OWNED: &[&str] = &["Ready", "ReplicasReady", "Paused"];

/// Starts a controller of the DevMachinePools with this backend. `leaves` says to whom it leaves the others. The controllers of a process
/// have different names, and leave each DevMachinePool to one of them.
pub fn start(
    manager: &Manager,
    name: &'static str,
    backend: &'static dyn Backend,
    leaves: impl Fn(&DevMachinePool) -> Option<Left> + Send + Sync + 'static,
) {
    let this = DevMachinePoolController {
        objects: manager.objects(),
        pools: manager.objects(),
        dev_machines: manager.objects(),
        machines: manager.objects(),
        clusters: manager.objects(),
        backend,
        leaves: Box::new(leaves),
        upstream: Upstream::new(manager, UPSTREAM),
        manager: manager.clone(),
    };
    let (by_cluster, pools, all) = (this.objects.clone(), this.pools.clone(), this.objects.clone());
    let of_label = this.pools.clone();
    Controller::new(manager, name)
        .reconciles(&this.objects)
        .owns(&this.dev_machines, DevMachinePool::GROUP, DevMachinePool::KIND)
        .watches(&this.pools, |change| change.objects().filter_map(infrastructure).collect())
        .watches(&this.dev_machines, move |change| of_lost_machine(&of_label, change))
        .watches(&this.machines, move |change| of_machine(&pools, change))
        .watches(&this.clusters, move |change: &Change<Cluster>| {
            requests_of(&by_cluster.by_cluster(&change.name()))
        })
        .stands_aside(&this.upstream, move || requests_of(&all.all()))
        .start(Frame::new(this));
}

/// Returns the DevMachinePool of a MachinePool, or `None` if its machines are of another kind.
fn infrastructure(pool: &Arc<MachinePool>) -> Option<Request> {
    let reference = &pool.spec.template.spec.infrastructure_ref;
    let is_dev = reference.kind == DevMachinePool::KIND && reference.api_group == DevMachinePool::GROUP;
    let namespace = pool.metadata.namespace.clone().unwrap_or_default();
    is_dev.then(|| NamespacedName::new(namespace, reference.name.as_str()))
}

/// Returns the DevMachinePool of a Machine that a MachinePool controls.
fn of_machine(pools: &Objects<MachinePool>, change: &Change<Machine>) -> Vec<Request> {
    let owners = engine::controller::owner_requests(change, MachinePool::GROUP, MachinePool::KIND);
    owners.iter().filter_map(|owner| infrastructure(&pools.get(owner)?)).collect()
}

/// Returns the DevMachinePool of a DevMachine without an owner reference to any, as after a restore from a backup.
fn of_lost_machine(pools: &Objects<MachinePool>, change: &Change<DevMachine>) -> Vec<Request> {
    let of_pool = |machine: &&Arc<DevMachine>| label(machine.as_ref(), engine::names::POOL_NAME).is_some();
    let Some(machine) = change.new.as_ref().filter(of_pool) else { return Vec::new() };
    let cluster = label(machine.as_ref(), engine::names::CLUSTER_NAME);
    let is_owned = owners::find(machine.as_ref(), DevMachinePool::GROUP, DevMachinePool::KIND).is_some();
    let (Some(cluster), false) = (cluster, is_owned) else { return Vec::new() };
    let pools = pools.by_cluster(&NamespacedName::new(change.name().namespace, cluster));
    pools.iter().filter(|pool| is_labelled(machine, pool)).filter_map(infrastructure).collect()
}

impl Planned for DevMachinePoolController {
    type Object = DevMachinePool;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<DevMachinePool> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn leaves(&self, dev: &DevMachinePool) -> Option<Left> {
        (self.leaves)(dev).or_else(|| self.upstream.left(DevMachinePool::KIND))
    }

    /// Returns the Cluster of the MachinePool that owns the DevMachinePool. Without an owner, the DevMachinePool waits until the
    /// MachinePool's controller sets the reference.
    fn cluster(&self, dev: &Arc<DevMachinePool>) -> Membership {
        if owners::find(dev.as_ref(), MachinePool::GROUP, MachinePool::KIND).is_none() {
            return Membership::Waits;
        }
        let cluster = self.pool_of(dev).and_then(|pool| self.cluster_of(&pool));
        cluster.map_or(Membership::Missing(None), Membership::Of)
    }

    async fn has_parts(&self, dev: &Arc<DevMachinePool>) -> bool {
        !self.dev_machines.by_owner(uid(dev.as_ref())).is_empty()
    }

    async fn observe(
        &self,
        dev: Arc<DevMachinePool>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        Ok(cluster.and_then(|cluster| self.read(dev, cluster)))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan::plan(observed, now)
    }

    async fn apply(&self, _: &Observed, plan: Plan) -> Outcome<DevMachinePool> {
        self.execute(plan).await
    }

    /// Reports the error in the condition `Ready`.
    fn report(dev: &mut DevMachinePool, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set_not_ready(dev, errors, now);
    }

    fn observed_generation(dev: &mut DevMachinePool) -> Option<&mut Option<i64>> {
        Some(&mut dev.status.get_or_insert_default().observed_generation)
    }
}
