//! The order in which a Cluster's objects are deleted: workers, control plane, infrastructure, the Cluster
//! itself. Before them, the grace period passes, in which nothing is deleted.

use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use engine::{ExternalObject, Kind, owners};
use schemas::cluster::{Machine, MachineDeployment, MachinePool, MachineSet};

use super::grace;
use super::observe::Observed;
use super::plan::Plan;
use crate::change::Reference;
use engine::messages;

/// Annotation on Clusters with a topology that are being deleted: the extensions have nothing against it.
const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";
/// The maximum number of names of a kind in a message.
const LISTED: usize = 5;

/// The objects to delete.
#[derive(Debug, Default)]
pub struct Deletions {
    /// MachineDeployments.
    pub deployments: Vec<Arc<MachineDeployment>>,
    /// MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// MachinePools.
    pub pools: Vec<Arc<MachinePool>>,
    /// Machines.
    pub machines: Vec<Arc<Machine>>,
    /// The control plane or infrastructure object.
    pub external: Vec<ExternalObject>,
}

/// The progress of the deletion.
#[derive(Debug)]
pub enum Step {
    /// The Cluster is not being deleted.
    NotDeleting,
    /// The deletion waits; holds reason and message of the `Deleting` condition.
    Waiting(&'static str, String),
    /// All objects of the Cluster are deleted.
    Completed,
}

/// Plans the next step. Each wait ends with the deletion event of an object.
pub fn plan(plan: &mut Plan, observed: &Observed) -> Step {
    if let Some(step) = grace::plan(plan, observed) {
        return step;
    }
    if waits_for_hook(observed) {
        return Step::Waiting(
            "WaitingForBeforeDeleteHook",
            "Waiting for BeforeClusterDelete hook".to_owned(),
        );
    }
    delete_children(plan, observed);
    if let Some(message) = workers(observed) {
        return Step::Waiting("WaitingForWorkersDeletion", message);
    }
    if let Some(message) = external(plan, &observed.control_plane) {
        return Step::Waiting("WaitingForControlPlaneDeletion", message);
    }
    if let Some(message) = external(plan, &observed.infrastructure) {
        return Step::Waiting("WaitingForInfrastructureDeletion", message);
    }
    Step::Completed
}

/// Returns whether runtime extensions are still to be asked. The controller of topologies asks them, and then sets an annotation.
fn waits_for_hook(observed: &Observed) -> bool {
    let features = observed.features;
    features.runtime_sdk
        && features.cluster_topology
        && observed.cluster.spec.topology.is_some()
        && annotation(observed.cluster.as_ref(), OK_TO_DELETE).is_none()
}

/// Deletes the children that the Cluster itself owns; their owner references lead to the deletion of the
/// rest.
fn delete_children(plan: &mut Plan, observed: &Observed) {
    fn direct<K: Kind>(children: &[Arc<K>], cluster: &str) -> Vec<Arc<K>> {
        let is_direct =
            |child: &&Arc<K>| owners::is_owned_by(child.as_ref(), cluster) && !is_deleting(child.as_ref());
        children.iter().filter(is_direct).cloned().collect()
    }
    let cluster = uid(observed.cluster.as_ref());
    plan.delete.deployments = direct(&observed.deployments, cluster);
    plan.delete.sets = direct(&observed.sets, cluster);
    plan.delete.pools = direct(&observed.pools, cluster);
    plan.delete.machines = direct(&observed.worker_machines, cluster);
    if matches!(observed.control_plane, Reference::None) {
        plan.delete.machines.extend(direct(&observed.control_plane_machines, cluster));
    }
}

/// Lists the workers that must be deleted before the control plane; `None` if there are none.
fn workers(observed: &Observed) -> Option<String> {
    let mut lines = Vec::new();
    if matches!(observed.control_plane, Reference::None) {
        lines.extend(line("Control plane Machines", &observed.control_plane_machines));
    }
    lines.extend(line("MachineDeployments", &observed.deployments));
    lines.extend(line("MachineSets", &observed.sets));
    lines.extend(line("MachinePools", &observed.pools));
    lines.extend(line("Worker Machines", &observed.worker_machines));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn line<K: Kind>(title: &str, objects: &[Arc<K>]) -> Option<String> {
    let mut names: Vec<&str> = objects.iter().filter_map(|object| object.meta().name.as_deref()).collect();
    names.sort_unstable();
    (!names.is_empty()).then(|| format!("* {title}: {}", messages::names(&names, LISTED)))
}

fn external(plan: &mut Plan, reference: &Reference) -> Option<String> {
    match reference {
        Reference::None | Reference::NotFound => None,
        Reference::Failed(_) => Some(messages::INTERNAL_ERROR.to_owned()),
        Reference::Found(object) => {
            if !is_deleting(object.object.as_ref()) {
                plan.delete.external.push(object.clone());
            }
            Some(format!("Waiting for {} to be deleted", object.resource.kind))
        }
    }
}
