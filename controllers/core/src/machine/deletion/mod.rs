//! The steps of a Machine's deletion: pre-drain hooks, drain, volumes, pre-terminate hooks, infrastructure,
//! bootstrap, Node, finalizer.

mod draining;
mod timeouts;
mod volumes;

use std::collections::BTreeMap;

use chrono::Duration;
use engine::ExternalObject;
use engine::object::is_deleting;
use engine::steps::Event;
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::cluster::{MachineDeletionSpec, MachineDeletionStatus};
use schemas::deletion_grace::is_torn_down;

pub use volumes::{has_any, is_attached};

use super::changes::{Plan, Step};
use super::facts::node_name;
use super::observed::{NodeState, Observed};
use super::v1beta1;

use crate::change::Reference;
use timeouts::{come_again, end};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// This process tries to delete a Node for at least this long, even after the deletion's time-out.
const NODE_DELETION_LEAST: Duration = Duration::seconds(10);
const OUT_OF_REACH: &str = "Waiting for the connection to the workload cluster";

/// Returns whether the Node is drained and deleted with the Machine: not if the cluster or its control plane
/// is being deleted, or if no other control plane Machine is left. Whether the Node is reachable makes no
/// difference.
fn concerns_node(observed: &Observed) -> bool {
    if is_torn_down(&observed.cluster) || !has_node(observed) {
        return false;
    }
    match &observed.control_plane {
        Reference::Found(object) if is_deleting(object.object.as_ref()) => false,
        Reference::Found(object) if object.is_true("/status/externalManagedControlPlane") => true,
        _ => observed.has_control_plane_machines,
    }
}

/// Returns whether the Machine has or had a Node. A Machine that once had one counts as having it, even while
/// the Node is absent or unreachable.
fn has_node(observed: &Observed) -> bool {
    node_name(&observed.machine).is_some() || observed.node.found().is_some()
}

/// Returns the error if the control plane object, on which [`concerns_node`] depends, could not be read.
fn unreadable_control_plane(observed: &Observed) -> Option<&str> {
    match &observed.control_plane {
        Reference::Failed(error) if has_node(observed) && !is_torn_down(&observed.cluster) => Some(error),
        _ => None,
    }
}

fn spec(observed: &Observed) -> MachineDeletionSpec {
    observed.machine.spec.deletion.clone().unwrap_or_default()
}

fn deletion(observed: &Observed) -> MachineDeletionStatus {
    observed.machine.status.as_ref().and_then(|status| status.deletion.clone()).unwrap_or_default()
}

/// Returns whether the Node is drained, and its volumes awaited, for the last time: pre-terminate hooks may
/// rely on it, and after them the infrastructure is deleted or does not exist.
fn is_past_drain(observed: &Observed) -> bool {
    deletion(observed).wait_for_pre_terminate_hook_start_time.is_some()
        || match &observed.infrastructure {
            Reference::Found(object) => is_deleting(object.object.as_ref()),
            Reference::NotFound | Reference::None => true,
            Reference::Failed(_) => false,
        }
}

/// Returns whether the plan depends on the Pods of the Node.
pub fn needs_pods(observed: &Observed) -> bool {
    let is_next = concerns_node(observed) && hooks(observed, PRE_DRAIN).is_empty();
    is_next && !(draining::is_skipped(observed) && volumes::is_skipped(observed))
}

/// Returns whether the plan depends on the volumes of the Node: the drain is complete. Call it once the Pods
/// are read.
pub fn needs_volumes(observed: &Observed) -> bool {
    needs_pods(observed) && draining::is_complete(observed) && !volumes::is_skipped(observed)
}

/// Returns the remaining hooks of a stage: the annotations `<prefix>` and `<prefix>/...`.
fn hooks(observed: &Observed, prefix: &str) -> Vec<String> {
    let annotations: Option<&BTreeMap<String, String>> = observed.machine.metadata.annotations.as_ref();
    annotations
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .filter(|key| key.starts_with(prefix))
        .collect()
}

/// Plans the next step.
pub fn plan(plan: &mut Plan, observed: &Observed) -> Step {
    if let Some(error) = unreadable_control_plane(observed) {
        plan.errors.push(error.to_owned());
        return Step::Waiting("InternalError", engine::messages::INTERNAL_ERROR.to_owned());
    }
    if let Some(step) = before_termination(plan, observed) {
        return step;
    }
    let remaining = hooks(observed, PRE_TERMINATE);
    if !remaining.is_empty() {
        start(&mut status(plan).wait_for_pre_terminate_hook_start_time, observed);
        let message = format!("Waiting for pre-terminate hooks to succeed (hooks: {})", remaining.join(","));
        return Step::Waiting("WaitingForPreTerminateHook", message);
    }
    v1beta1::succeeded(plan, observed, "PreTerminateDeleteHookSucceeded");
    if let Some(message) = external(plan, &observed.infrastructure) {
        return Step::Waiting("WaitingForInfrastructureDeletion", message);
    }
    if let Some(message) = external(plan, &observed.bootstrap) {
        return Step::Waiting("WaitingForBootstrapDeletion", message);
    }
    node_step(plan, observed).unwrap_or(Step::Completed)
}

/// Plans pre-drain hooks, drain and volume detachment; `None` if they are complete or do not apply.
fn before_termination(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if !concerns_node(observed) {
        return None;
    }
    let remaining = hooks(observed, PRE_DRAIN);
    if !remaining.is_empty() {
        start(&mut status(plan).wait_for_pre_drain_hook_start_time, observed);
        let message = format!("Waiting for pre-drain hooks to succeed (hooks: {})", remaining.join(","));
        return Some(Step::Waiting("WaitingForPreDrainHook", message));
    }
    v1beta1::succeeded(plan, observed, "PreDrainDeleteHookSucceeded");
    draining::step(plan, observed).or_else(|| volumes::step(plan, observed))
}

fn status(plan: &mut Plan) -> &mut MachineDeletionStatus {
    plan.machine.status.get_or_insert_default().deletion.get_or_insert_default()
}

/// Sets when a step began. A time that is still to come was written while the clock was ahead, and would delay the end of the time-out.
fn start(time: &mut Option<String>, observed: &Observed) {
    let is_past = time.as_deref().and_then(parse_rfc3339).is_some_and(|time| time <= observed.now);
    if !is_past {
        *time = Some(rfc3339(observed.now));
    }
}

fn external(plan: &mut Plan, reference: &Reference) -> Option<String> {
    match reference {
        Reference::None | Reference::NotFound => None,
        Reference::Failed(_) => Some(engine::messages::INTERNAL_ERROR.to_owned()),
        Reference::Found(object) => Some(delete(plan, object)),
    }
}

fn delete(plan: &mut Plan, object: &ExternalObject) -> String {
    if !is_deleting(object.object.as_ref()) {
        plan.delete.push(object.clone());
    }
    format!("Waiting for {} to be deleted", object.resource.kind)
}

/// Deletes the Node. Deletion is retried until its time-out, which starts with the Machine's deletion, and
/// for at least [`NODE_DELETION_LEAST`], since the drain may have taken longer than the time-out.
fn node_step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if !concerns_node(observed) || matches!(observed.node, NodeState::Absent) {
        return None;
    }
    if observed.node.found().is_some_and(|node| is_deleting(node.as_ref())) {
        // The Node waits only for finalizers of other controllers.
        return None;
    }
    let since = observed.machine.metadata.deletion_timestamp.as_ref().map(engine::time::utc);
    let since_here = observed.node_deletion_since.unwrap_or(observed.now).min(observed.now);
    let tried = since_here + NODE_DELETION_LEAST;
    let end = end(spec(observed).node_deletion_timeout_seconds, since.map(rfc3339).as_deref());
    let end = end.map(|end| end.max(tried));
    if end.is_some_and(|end| observed.now >= end) {
        let name = node_name(&observed.machine).unwrap_or_default();
        let message = format!("Machine's node \"{name}\" could not be deleted in time: delete it by hand");
        plan.events.push(Event::warning("FailedDeleteNode", message));
        return None;
    }
    plan.delete_node = true;
    come_again(plan, observed, end);
    let message = match observed.node.found() {
        Some(_) => "Waiting for the Node to be deleted",
        None => OUT_OF_REACH,
    };
    Some(Step::Waiting("DeletingNode", message.to_owned()))
}
