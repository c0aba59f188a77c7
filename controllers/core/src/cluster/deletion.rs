//! The order in which a Cluster's objects are deleted: workers, control plane, infrastructure, the Cluster
//! itself. Before them, the grace period passes, in which nothing is deleted.

use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use engine::{Kind, Steps, owners};

use super::grace;
use super::kubeconfig::MakeKubeconfig;
use super::observed::Observed;
use super::plan::{Plan, Step};
use crate::change::Reference;
use engine::messages;

/// Annotation on Clusters with a topology that are being deleted: the extensions have nothing against it.
const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";
/// The maximum number of names of a kind in a message.
const LISTED: usize = 5;

/// The progress of the deletion.
#[derive(Debug)]
pub enum Stage {
    /// The Cluster is not being deleted.
    NotDeleting,
    /// Nothing is deleted before it is written that the grace period ends; holds the message of the `Deleting` condition.
    GracePeriodEnds(String),
    /// The deletion waits; holds reason and message of the `Deleting` condition.
    Waiting(&'static str, String),
    /// All objects of the Cluster are deleted.
    Completed,
}

/// Plans the next step. Each wait ends with the deletion event of an object.
pub fn plan(plan: &mut Plan, observed: &Observed) -> Stage {
    if let Some(stage) = grace::plan(plan, observed) {
        return stage;
    }
    if waits_for_hook(observed) {
        return Stage::Waiting(
            "WaitingForBeforeDeleteHook",
            "Waiting for BeforeClusterDelete hook".to_owned(),
        );
    }
    delete_children(&mut plan.steps, observed);
    if let Some(message) = workers(observed) {
        return Stage::Waiting("WaitingForWorkersDeletion", message);
    }
    if let Some(message) = external(&mut plan.steps, &observed.control_plane) {
        return Stage::Waiting("WaitingForControlPlaneDeletion", message);
    }
    if let Some(message) = external(&mut plan.steps, &observed.infrastructure) {
        return Stage::Waiting("WaitingForInfrastructureDeletion", message);
    }
    Stage::Completed
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
fn delete_children(steps: &mut Steps<MakeKubeconfig>, observed: &Observed) {
    fn direct<K: Kind<DynamicType = ()> + PartialEq>(children: &[Arc<K>], cluster: &str) -> Vec<Step> {
        let is_direct =
            |child: &&Arc<K>| owners::is_owned_by(child.as_ref(), cluster) && !is_deleting(child.as_ref());
        children.iter().filter(is_direct).map(Step::delete).collect()
    }
    let cluster = uid(observed.cluster.as_ref());
    steps.extend(direct(&observed.deployments, cluster));
    steps.extend(direct(&observed.sets, cluster));
    steps.extend(direct(&observed.pools, cluster));
    steps.extend(direct(&observed.worker_machines, cluster));
    if matches!(observed.control_plane, Reference::None) {
        steps.extend(direct(&observed.control_plane_machines, cluster));
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

fn external(steps: &mut Steps<MakeKubeconfig>, reference: &Reference) -> Option<String> {
    match reference {
        Reference::None | Reference::NotFound => None,
        Reference::Failed(_) => Some(messages::INTERNAL_ERROR.to_owned()),
        Reference::Found(object) => {
            if !is_deleting(object.object.as_ref()) {
                steps.push(Step::delete(object));
            }
            Some(format!("Waiting for {} to be deleted", object.resource.kind))
        }
    }
}
