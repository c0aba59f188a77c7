//! The steps of a Machine's deletion: hooks, drain, volumes, hooks, infrastructure, bootstrap, Node, finalizer.

use std::collections::BTreeMap;

use chrono::Duration;
use engine::object::{annotation, is_deleting};
use engine::{Action, ExternalObject};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::cluster::MachineDeletionStatus;

use super::plan::Plan;
use super::{DELETION_RETRY, NodeState, Observed, drain};
use crate::change::{Event, Reference};

const PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
const PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
const EXCLUDE_DRAIN: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
const EXCLUDE_VOLUMES: &str = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach";

/// How far the deletion is.
#[derive(Debug)]
pub enum Step {
    /// The Machine is not being deleted.
    NotDeleting,
    /// It waits: reason and message of the `Deleting` condition.
    Waiting(&'static str, String),
    /// Nothing is left.
    Completed,
}

/// Whether the Node must be drained and deleted with the Machine: not when the whole cluster goes, or when nobody would notice.
fn keeps_node_clean(observed: &Observed) -> bool {
    if is_deleting(observed.cluster.as_ref()) || observed.node.found().is_none() {
        return false;
    }
    match &observed.control_plane {
        Reference::Found(object) if is_deleting(object.object.as_ref()) => false,
        Reference::Found(object) if object.is_true("/status/externalManagedControlPlane") => true,
        _ => observed.has_control_plane_machines,
    }
}

fn deletion(observed: &Observed) -> MachineDeletionStatus {
    observed.machine.status.as_ref().and_then(|status| status.deletion.clone()).unwrap_or_default()
}

/// Past the pre-terminate hooks, or without infrastructure, there is nothing left to drain.
fn is_past_termination(observed: &Observed) -> bool {
    match &observed.infrastructure {
        Reference::Found(object) => is_deleting(object.object.as_ref()),
        Reference::NotFound | Reference::None => true,
        Reference::Failed(_) => false,
    }
}

fn skips_drain(observed: &Observed) -> bool {
    let timeout = observed.machine.spec.deletion.as_ref().and_then(|spec| spec.node_drain_timeout_seconds);
    let since = deletion(observed).node_drain_start_time;
    annotation(observed.machine.as_ref(), EXCLUDE_DRAIN).is_some()
        || is_past_termination(observed)
        || is_over(observed, timeout, since.as_deref())
}

fn is_over(observed: &Observed, timeout: Option<i32>, since: Option<&str>) -> bool {
    let timeout = timeout.filter(|seconds| *seconds > 0).map(|seconds| Duration::seconds(i64::from(seconds)));
    let since = since.and_then(parse_rfc3339);
    timeout.zip(since).is_some_and(|(timeout, since)| observed.now - since >= timeout)
}

/// Whether the plan will look at the Pods of the Node.
pub fn needs_pods(observed: &Observed) -> bool {
    keeps_node_clean(observed) && hooks(observed, PRE_DRAIN).is_empty() && !skips_drain(observed)
}

/// The hooks of a stage that still stand: annotations `<prefix>` and `<prefix>/…`.
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
    if let Some(step) = before_termination(plan, observed) {
        return step;
    }
    let standing = hooks(observed, PRE_TERMINATE);
    if !standing.is_empty() {
        start(&mut status(plan).wait_for_pre_terminate_hook_start_time, observed);
        let message = format!("Waiting for pre-terminate hooks to succeed (hooks: {})", standing.join(","));
        return Step::Waiting("WaitingForPreTerminateHook", message);
    }
    if let Some(message) = external(plan, &observed.infrastructure) {
        return Step::Waiting("WaitingForInfrastructureDeletion", message);
    }
    if let Some(message) = external(plan, &observed.bootstrap) {
        return Step::Waiting("WaitingForBootstrapDeletion", message);
    }
    if keeps_node_clean(observed) && !node_timeout_is_over(observed) {
        plan.delete_node = true;
        return Step::Waiting("DeletingNode", "Waiting for the Node to be deleted".to_owned());
    }
    Step::Completed
}

/// Hooks, drain and volumes, as far as the Node matters.
fn before_termination(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if !keeps_node_clean(observed) {
        let must_wait = matches!(observed.node, NodeState::NotConnected) && waits_for_connection(observed);
        return must_wait.then(|| {
            plan.errors.push("the connection to the workload cluster is down".to_owned());
            Step::Waiting("DrainingNode", "Waiting for the connection to the workload cluster".to_owned())
        });
    }
    let standing = hooks(observed, PRE_DRAIN);
    if !standing.is_empty() {
        start(&mut status(plan).wait_for_pre_drain_hook_start_time, observed);
        let message = format!("Waiting for pre-drain hooks to succeed (hooks: {})", standing.join(","));
        return Some(Step::Waiting("WaitingForPreDrainHook", message));
    }
    drain_step(plan, observed).or_else(|| volumes_step(plan, observed))
}

/// A Machine with a Node whose cluster stays must see its Node before it can go on.
fn waits_for_connection(observed: &Observed) -> bool {
    let has_node = observed.machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    let control_plane_goes =
        observed.control_plane.found().is_some_and(|object| is_deleting(object.object.as_ref()));
    has_node
        && !is_deleting(observed.cluster.as_ref())
        && !control_plane_goes
        && observed.has_control_plane_machines
        && !is_past_termination(observed)
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
    let node = observed.node.found()?;
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
    plan.action = plan.action.min(Action::requeue_after(DELETION_RETRY));
    let since = status(plan).node_drain_start_time.clone().unwrap_or_default();
    let mut lines = vec![format!("Drain not completed yet (started at {since}):")];
    lines.extend(outcome.messages);
    Some(Step::Waiting("DrainingNode", lines.join("\n")))
}

/// Waits until no volume is attached to the Node.
fn volumes_step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    let timeout =
        observed.machine.spec.deletion.as_ref().and_then(|spec| spec.node_volume_detach_timeout_seconds);
    let since = deletion(observed).wait_for_node_volume_detach_start_time;
    let node = observed.node.found()?;
    if annotation(observed.machine.as_ref(), EXCLUDE_VOLUMES).is_some()
        || is_past_termination(observed)
        || drain::is_unreachable(node)
        || is_over(observed, timeout, since.as_deref())
    {
        return None;
    }
    start(&mut status(plan).wait_for_node_volume_detach_start_time, observed);
    let attached = node.status.as_ref().and_then(|status| status.volumes_attached.as_ref());
    let names: Vec<&str> = attached.into_iter().flatten().map(|volume| volume.name.as_str()).collect();
    if names.is_empty() {
        if since.is_none() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            let message = format!("success waiting for node volumes detaching Machine's node \"{name}\"");
            plan.events.push(Event::normal("NodeVolumesDetached", message));
        }
        return None;
    }
    plan.action = plan.action.min(Action::requeue_after(DELETION_RETRY));
    let since = status(plan).wait_for_node_volume_detach_start_time.clone().unwrap_or_default();
    let message = format!(
        "Waiting for Node volumes to be detached (started at {since})\n* Node.status.volumesAttached: {}",
        crate::text::names(&names, 5)
    );
    Some(Step::Waiting("WaitingForVolumeDetach", message))
}

fn external(plan: &mut Plan, reference: &Reference) -> Option<String> {
    match reference {
        Reference::None | Reference::NotFound => None,
        Reference::Failed(_) => Some(crate::INTERNAL_ERROR.to_owned()),
        Reference::Found(object) => Some(delete(plan, object)),
    }
}

fn delete(plan: &mut Plan, object: &ExternalObject) -> String {
    if !is_deleting(object.object.as_ref()) {
        plan.delete.push(object.clone());
    }
    format!("Waiting for {} to be deleted", object.resource.kind)
}

/// Unset or 0 waits for ever.
fn node_timeout_is_over(observed: &Observed) -> bool {
    let timeout = observed.machine.spec.deletion.as_ref().and_then(|spec| spec.node_deletion_timeout_seconds);
    let since = observed.machine.metadata.deletion_timestamp.as_ref().map(engine::time::utc);
    is_over(observed, timeout, since.map(rfc3339).as_deref())
}
