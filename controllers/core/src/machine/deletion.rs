//! The steps of a Machine's deletion: pre-drain hooks, drain, volumes, pre-terminate hooks, infrastructure,
//! bootstrap, Node, finalizer.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use engine::object::{annotation, is_deleting};
use engine::{Action, ExternalObject};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::cluster::{MachineDeletionSpec, MachineDeletionStatus};

use super::drain;
use super::facts::node_name;
use super::observed::{NodeState, Observed};
use super::plan::Plan;
use crate::change::{Event, Reference};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
const EXCLUDE_DRAIN: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
/// This process tries to delete a Node for at least this long, even after the deletion's time-out.
const NODE_DELETION_LEAST: Duration = Duration::seconds(10);
/// The interval at which a step of a deletion is checked again if no event reports its end.
const DELETION_RETRY: std::time::Duration = std::time::Duration::from_secs(20);
const OUT_OF_REACH: &str = "Waiting for the connection to the workload cluster";
const EXCLUDE_VOLUMES: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";

/// The progress of the deletion.
#[derive(Debug)]
pub enum Step {
    /// The Machine is not being deleted.
    NotDeleting,
    /// The deletion waits; holds reason and message of the `Deleting` condition.
    Waiting(&'static str, String),
    /// The Machine's parts are deleted.
    Completed,
}

/// Returns whether the Node is drained and deleted with the Machine: not if the cluster or its control plane
/// is being deleted, or if no other control plane Machine is left. Whether the Node is reachable makes no
/// difference.
fn concerns_node(observed: &Observed) -> bool {
    if is_deleting(observed.cluster.as_ref()) || !has_node(observed) {
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
        Reference::Failed(error) if has_node(observed) && !is_deleting(observed.cluster.as_ref()) => {
            Some(error)
        }
        _ => None,
    }
}

fn spec(observed: &Observed) -> MachineDeletionSpec {
    observed.machine.spec.deletion.clone().unwrap_or_default()
}

fn deletion(observed: &Observed) -> MachineDeletionStatus {
    observed.machine.status.as_ref().and_then(|status| status.deletion.clone()).unwrap_or_default()
}

/// Returns whether draining is pointless: the infrastructure is being deleted (after the pre-terminate hooks)
/// or does not exist.
fn is_past_termination(observed: &Observed) -> bool {
    match &observed.infrastructure {
        Reference::Found(object) => is_deleting(object.object.as_ref()),
        Reference::NotFound | Reference::None => true,
        Reference::Failed(_) => false,
    }
}

fn skips_drain(observed: &Observed) -> bool {
    let timeout = spec(observed).node_drain_timeout_seconds;
    let since = deletion(observed).node_drain_start_time;
    annotation(observed.machine.as_ref(), EXCLUDE_DRAIN).is_some()
        || is_past_termination(observed)
        || is_over(observed, timeout, since.as_deref())
}

/// Returns the end of a time-out; `None` if it never ends (unset or 0) or has not begun.
fn end(timeout: Option<i32>, since: Option<&str>) -> Option<DateTime<Utc>> {
    let timeout =
        timeout.filter(|seconds| *seconds > 0).map(|seconds| Duration::seconds(i64::from(seconds)))?;
    since.and_then(parse_rfc3339)?.checked_add_signed(timeout)
}

fn is_over(observed: &Observed, timeout: Option<i32>, since: Option<&str>) -> bool {
    end(timeout, since).is_some_and(|end| observed.now >= end)
}

/// Requests a reconcile for the end of a time-out, and at the latest after [`DELETION_RETRY`], since
/// time-outs end without an event.
fn come_again(plan: &mut Plan, observed: &Observed, end: Option<DateTime<Utc>>) {
    let left = end.and_then(|end| (end - observed.now).to_std().ok());
    let delay = left.map_or(DELETION_RETRY, |left| left.min(DELETION_RETRY));
    plan.action = plan.action.min(Action::requeue_after(delay));
}

/// Returns whether the plan needs the Pods of the Node.
pub fn needs_pods(observed: &Observed) -> bool {
    concerns_node(observed) && hooks(observed, PRE_DRAIN).is_empty() && !skips_drain(observed)
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
    drain_step(plan, observed).or_else(|| volumes_step(plan, observed))
}

fn status(plan: &mut Plan) -> &mut MachineDeletionStatus {
    plan.machine.status.get_or_insert_default().deletion.get_or_insert_default()
}

fn start(time: &mut Option<String>, observed: &Observed) {
    time.get_or_insert_with(|| rfc3339(observed.now));
}

fn drain_step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if skips_drain(observed) {
        return None;
    }
    start(&mut status(plan).node_drain_start_time, observed);
    let since = status(plan).node_drain_start_time.clone();
    let end = end(spec(observed).node_drain_timeout_seconds, since.as_deref());
    let node = match &observed.node {
        NodeState::Found(node) => node,
        NodeState::Absent => return None,
        NodeState::NotConnected | NodeState::Ambiguous(_) => {
            come_again(plan, observed, end);
            return Some(Step::Waiting("DrainingNode", OUT_OF_REACH.to_owned()));
        }
    };
    let outcome = drain::plan(node, observed.pods.as_deref().unwrap_or_default(), observed.now);
    plan.node = drain::cordoned(node);
    plan.evict = outcome.evict;
    if outcome.messages.is_empty() && observed.pods.is_some() {
        if deletion(observed).wait_for_node_volume_detach_start_time.is_none() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let message = format!("success draining Machine's node \"{name}\"");
            plan.events.push(Event::normal("SuccessfulDrainNode", message));
        }
        return None;
    }
    come_again(plan, observed, end);
    let mut lines = vec![format!("Drain not completed yet (started at {}):", since.unwrap_or_default())];
    lines.extend(outcome.messages);
    Some(Step::Waiting("DrainingNode", lines.join("\n")))
}

/// Waits until no volume is attached to the Node.
fn volumes_step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    let timeout = spec(observed).node_volume_detach_timeout_seconds;
    let begun = deletion(observed).wait_for_node_volume_detach_start_time;
    if annotation(observed.machine.as_ref(), EXCLUDE_VOLUMES).is_some()
        || is_past_termination(observed)
        || is_over(observed, timeout, begun.as_deref())
    {
        return None;
    }
    if let NodeState::Absent = observed.node {
        return None;
    }
    if observed.node.found().is_some_and(|node| drain::is_unreachable(node)) {
        return None;
    }
    start(&mut status(plan).wait_for_node_volume_detach_start_time, observed);
    let since = status(plan).wait_for_node_volume_detach_start_time.clone();
    let end = end(timeout, since.as_deref());
    let Some(node) = observed.node.found() else {
        come_again(plan, observed, end);
        return Some(Step::Waiting("WaitingForVolumeDetach", OUT_OF_REACH.to_owned()));
    };
    let attached = node.status.as_ref().and_then(|status| status.volumes_attached.as_ref());
    let names: Vec<&str> = attached.into_iter().flatten().map(|volume| volume.name.as_str()).collect();
    if names.is_empty() {
        if begun.is_none() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let message = format!("success waiting for node volumes detaching Machine's node \"{name}\"");
            plan.events.push(Event::normal("NodeVolumesDetached", message));
        }
        return None;
    }
    come_again(plan, observed, end);
    let message = format!(
        "Waiting for Node volumes to be detached (started at {})\n* Node.status.volumesAttached: {}",
        since.unwrap_or_default(),
        engine::messages::names(&names, 5)
    );
    Some(Step::Waiting("WaitingForVolumeDetach", message))
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
    let tried = observed.node_deletion_since.unwrap_or(observed.now) + NODE_DELETION_LEAST;
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
