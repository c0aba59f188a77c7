//! The plan of a DevMachinePool: which DevMachines are created and deleted. Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{finalizer, initialization, owners, paused};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use schemas::cluster::Machine;
use schemas::infrastructure::{DevMachine, DevMachinePool};

use crate::names::FINALIZER;
use crate::observed::{Member, Observed};
use crate::scale::{Scale, scale};
use crate::status;

/// The plan for a DevMachinePool.
#[derive(Debug, Default)]
pub struct Plan {
    /// The DevMachinePool as it should be.
    pub wanted: DevMachinePool,
    /// DevMachines whose owner reference is lost or old, as they were read and as they should be.
    pub own: Vec<(Arc<DevMachine>, DevMachine)>,
    /// DevMachines to create.
    pub create: Vec<DevMachine>,
    /// Machines to delete, whose controller drains their Nodes and deletes their DevMachines.
    pub delete_machines: Vec<Arc<Machine>>,
    /// DevMachines to delete, which have no Machine.
    pub delete: Vec<Arc<DevMachine>>,
}

impl Plan {
    fn delete(&mut self, member: &Member) {
        match &member.machine {
            _ if member.goes() => {}
            Some(machine) => self.delete_machines.push(machine.clone()),
            None => self.delete.push(member.dev.clone()),
        }
    }
}

/// Returns the plan for a DevMachinePool.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut plan = Plan { wanted: observed.dev.as_ref().clone(), ..Plan::default() };
    paused::set(&mut plan.wanted, Some(&observed.cluster), now);
    plan.own = observed.members.iter().filter_map(|member| owned(&observed.dev, member)).collect();
    let left = observed.orphans.iter().filter(|machine| !is_deleting(machine.as_ref()));
    plan.delete_machines = left.cloned().collect();
    if is_deleting(observed.dev.as_ref()) {
        observed.members.iter().for_each(|member| plan.delete(member));
        if observed.members.is_empty() && observed.orphans.is_empty() {
            finalizer::remove(&mut plan.wanted, FINALIZER);
        }
    } else if may_start(observed) {
        let Scale { create, delete } = scale(observed);
        if let Ok(new) = &observed.new {
            plan.create = observed.names.iter().take(create).map(|name| named(new, name)).collect();
        }
        delete.into_iter().for_each(|member| plan.delete(member));
    }
    status::set(&mut plan.wanted, observed, now);
    plan
}

/// Returns a DevMachine with the owner reference that it lacks; `None` if it has it.
fn owned(dev: &DevMachinePool, member: &Member) -> Option<(Arc<DevMachine>, DevMachine)> {
    let owner = owners::reference(dev, &());
    let is_current = |present: &OwnerReference| {
        present.uid == owner.uid && present.api_version == owner.api_version && present.kind == owner.kind
    };
    if member.dev.metadata.owner_references.iter().flatten().any(is_current) {
        return None;
    }
    let mut wanted = member.dev.as_ref().clone();
    owners::ensure(&mut wanted, owner);
    Some((member.dev.clone(), wanted))
}

/// Returns whether machines can start: the Cluster's infrastructure and the bootstrap data are there.
fn may_start(observed: &Observed) -> bool {
    let data = observed.pool.spec.template.spec.bootstrap.data_secret_name.as_deref();
    initialization::has_infrastructure(&observed.cluster) && data.is_some_and(|name| !name.is_empty())
}

fn named(new: &DevMachine, name: &str) -> DevMachine {
    let mut machine = new.clone();
    machine.metadata.name = Some(name.to_owned());
    machine
}
