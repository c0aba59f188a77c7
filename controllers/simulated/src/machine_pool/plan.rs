//! The plan of a DevMachinePool: which DevMachines are created and deleted. Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::names::{CLUSTER_NAME, POOL_NAME};
use engine::object::{annotation, is_deleting};
use engine::{finalizer, owners, paused};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::Machine;
use schemas::infrastructure::{
    DevMachine, DevMachineBackend, DevMachinePool, DevMachineSpec, InMemoryMachineBackend,
};
use schemas::naming;

use super::observe::{Member, Observed};
use super::status;
use crate::names::{KUBERNETES_VERSION, MACHINE_POOL_FINALIZER};

const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";

/// The plan for a DevMachinePool.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The DevMachinePool as it should be.
    pub wanted: DevMachinePool,
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
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut plan = Plan { wanted: observed.dev.as_ref().clone(), ..Plan::default() };
    paused::set(&mut plan.wanted, Some(&observed.cluster), now);
    let left = observed.orphans.iter().filter(|machine| !is_deleting(machine.as_ref()));
    plan.delete_machines = left.cloned().collect();
    let backend = observed.dev.spec.backend.as_ref().and_then(|backend| backend.in_memory.as_ref());
    if is_deleting(observed.dev.as_ref()) {
        observed.members.iter().for_each(|member| plan.delete(member));
        if observed.members.is_empty() && observed.orphans.is_empty() {
            finalizer::remove(&mut plan.wanted, MACHINE_POOL_FINALIZER);
        }
    } else if let (Some(backend), true) = (backend, may_start(observed)) {
        scale(&mut plan, observed, backend);
    }
    status::set(&mut plan.wanted, observed, now);
    plan
}

/// Returns whether machines can start: the Cluster's infrastructure and the bootstrap data are there.
fn may_start(observed: &Observed) -> bool {
    let initialization = observed.cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|it| it.infrastructure_provisioned == Some(true))
        && observed.pool.spec.template.spec.bootstrap.data_secret_name.is_some()
}

/// Creates missing machines, deletes surplus ones, and replaces those of another version one after the other.
fn scale(plan: &mut Plan, observed: &Observed, backend: &InMemoryMachineBackend) {
    let wanted = status::wanted(observed);
    let mut staying: Vec<&Member> = observed.members.iter().filter(|member| !member.goes()).collect();
    let version = observed.pool.spec.template.spec.version.as_deref();
    let is_outdated = |member: &Member| member.version() != version;
    staying.sort_by_key(|member| {
        let machine = member.machine.as_deref();
        let is_asked = machine.is_some_and(|machine| annotation(machine, DELETE_MACHINE).is_some());
        (!is_asked, !is_outdated(member), member.is_ready(), member.dev.metadata.name.clone())
    });
    if staying.len() < wanted {
        let names = observed.names.iter().take(wanted - staying.len());
        plan.create = names.map(|name| machine(observed, name, backend)).collect();
    } else if staying.len() > wanted {
        staying[..staying.len() - wanted].iter().for_each(|member| plan.delete(member));
    } else if observed.members.len() == wanted
        && staying.iter().all(|member| member.is_ready())
        && let Some(outdated) = staying.iter().find(|member| is_outdated(member))
    {
        plan.delete(outdated);
    }
}

fn machine(observed: &Observed, name: &str, backend: &InMemoryMachineBackend) -> DevMachine {
    let template = &observed.pool.spec.template;
    let metadata = template.metadata.clone().unwrap_or_default();
    let (mut labels, mut annotations) = (metadata.labels, metadata.annotations);
    let pool = observed.pool.metadata.name.as_deref().unwrap_or_default();
    labels.insert(POOL_NAME.to_owned(), naming::label_value(pool));
    labels.insert(CLUSTER_NAME.to_owned(), observed.pool.spec.cluster_name.clone());
    annotations.extend(template.spec.version.clone().map(|version| (KUBERNETES_VERSION.to_owned(), version)));
    DevMachine {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: observed.dev.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
            // The Machine becomes the controller.
            owner_references: Some(vec![owners::reference(observed.dev.as_ref(), &())]),
            ..ObjectMeta::default()
        },
        spec: DevMachineSpec {
            backend: DevMachineBackend { in_memory: Some(backend.clone()), docker: None },
            ..DevMachineSpec::default()
        },
        status: None,
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
