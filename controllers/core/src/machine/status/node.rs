//! The conditions about a Machine's Node.

use std::time::Duration;

use engine::conditions::{self, FALSE, TRUE, UNKNOWN, is_false, is_true, is_unknown};
use engine::object::is_deleting;
use engine::{Action, time};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::meta::Condition;

use crate::machine::changes::Plan;
use crate::machine::node::ambiguous;
use crate::machine::observed::{NodeState, Observed};

/// The connection may be down this long before the conditions of a Machine's Node become unknown.
const CONNECTION_GRACE: Duration = Duration::from_secs(300);

fn both(status: &str, reason: &str, message: &str) -> Vec<Condition> {
    ["NodeReady", "NodeHealthy"].iter().map(|type_| conditions::new(type_, status, reason, message)).collect()
}

/// Returns the conditions `NodeReady` and `NodeHealthy`.
pub fn conditions(plan: &mut Plan, observed: &Observed) -> Vec<Condition> {
    let inspection = |message: &str| both(UNKNOWN, "InspectionFailed", message);
    let cluster = observed.cluster.as_ref();
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    if initialization.and_then(|initialization| initialization.infrastructure_provisioned) != Some(true) {
        return inspection("Waiting for Cluster status.initialization.infrastructureProvisioned to be true");
    }
    if !cluster.condition_is_true("ControlPlaneInitialized") {
        return inspection("Waiting for Cluster control plane to be initialized");
    }
    if let Some(conditions) = connection_down(plan, observed) {
        return conditions;
    }
    if let NodeState::Ambiguous(names) = &observed.node {
        let id = plan.machine.spec.provider_id.as_deref();
        return both(UNKNOWN, "InternalError", &ambiguous(names, id));
    }
    if let Some(node) = observed.node.found() {
        return vec![node_ready(node), node_healthy(node)];
    }
    let machine = &plan.machine;
    let node_ref = machine.status.as_ref().and_then(|status| status.node_ref.as_ref());
    match (node_ref, &machine.spec.provider_id) {
        (Some(node), _) if is_deleting(machine) => {
            both(FALSE, "NodeDeleted", &format!("Node {} has been deleted", node.name))
        }
        (Some(node), _) => {
            let message = format!("Node {} has been deleted while the Machine still exists", node.name);
            both(FALSE, "NodeDeleted", &message)
        }
        (None, _) if is_deleting(machine) => both(UNKNOWN, "NodeDoesNotExist", "Node does not exist"),
        (None, Some(id)) => inspection(&format!("Waiting for a Node with spec.providerID {id} to exist")),
        (None, None) => {
            let kind = &machine.spec.infrastructure_ref.kind;
            inspection(&format!("Waiting for {kind} to report spec.providerID"))
        }
    }
}

/// Returns the conditions while the workload cluster is unreachable; `None` if the Node's state is known.
fn connection_down(plan: &mut Plan, observed: &Observed) -> Option<Vec<Condition>> {
    let down = |message: String| Some(both(UNKNOWN, "ConnectionDown", &message));
    let Some(at) = observed.health.last_success else {
        return if matches!(observed.node, NodeState::NotConnected) {
            down("Remote connection not established yet".to_owned())
        } else {
            None
        };
    };
    let age = (observed.now - at).to_std().unwrap_or_default();
    if age > CONNECTION_GRACE {
        return down(format!("Last successful probe at {}", rfc3339(at)));
    }
    if !matches!(observed.node, NodeState::NotConnected) {
        return None;
    }
    // The last known conditions stay until the grace period ends, which no event reports.
    let left = CONNECTION_GRACE.saturating_sub(age) + Duration::from_millis(1);
    plan.action = plan.action.min(Action::requeue_after(left));
    let known =
        ["NodeReady", "NodeHealthy"].iter().filter_map(|type_| plan.machine.condition(type_).cloned());
    let known: Vec<Condition> = known.collect();
    if known.is_empty() { down(format!("Last successful probe at {}", rfc3339(at))) } else { Some(known) }
}

fn node_conditions(node: &Node) -> &[NodeCondition] {
    node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

fn node_ready(node: &Node) -> Condition {
    let ready = node_conditions(node).iter().find(|condition| condition.type_ == "Ready");
    let message = ready.and_then(|ready| ready.message.clone()).filter(|message| !message.is_empty());
    let message = message.map(|message| format!("* Node.Ready: {message}")).unwrap_or_default();
    let mut condition = match ready.map(|ready| ready.status.as_str()) {
        Some(TRUE) => is_true("NodeReady", "NodeReady"),
        Some(FALSE) => is_false("NodeReady", "NodeNotReady", message),
        Some(_) => is_unknown("NodeReady", "NodeReadyUnknown", message),
        None => is_unknown("NodeReady", "NodeReadyUnknown", "* Node.Ready: Condition not yet reported"),
    };
    if let Some(at) = ready.and_then(|ready| ready.last_transition_time.as_ref()) {
        condition.last_transition_time = rfc3339(time::utc(at));
    }
    condition
}

/// Returns `NodeHealthy`: true if the Node is ready and under no pressure.
fn node_healthy(node: &Node) -> Condition {
    let (mut bad, mut unknown, mut lines, mut texts) = (false, false, Vec::new(), Vec::new());
    for (type_, good) in
        [("Ready", TRUE), ("MemoryPressure", FALSE), ("DiskPressure", FALSE), ("PIDPressure", FALSE)]
    {
        let Some(found) = node_conditions(node).iter().find(|condition| condition.type_ == type_) else {
            unknown = true;
            lines.push(format!("* Node.{type_}: Condition not yet reported"));
            continue;
        };
        if found.status == good {
            continue;
        }
        match found.status.as_str() {
            TRUE | FALSE => bad = true,
            _ => unknown = true,
        }
        let text = found.message.clone().filter(|message| !message.is_empty());
        let text = text.unwrap_or_else(|| format!("Condition is {}", found.status));
        lines.push(format!("* Node.{type_}: {text}"));
        texts.push(text);
    }
    if let [first, others @ ..] = texts.as_slice()
        && !others.is_empty()
        && others.iter().all(|text| text == first)
    {
        lines = vec![format!("* Node.AllConditions: {first}")];
    }
    let message = lines.join("\n");
    match (bad, unknown) {
        (true, _) => is_false("NodeHealthy", "NodeNotHealthy", message),
        (false, true) => is_unknown("NodeHealthy", "NodeHealthyUnknown", message),
        (false, false) => is_true("NodeHealthy", "NodeHealthy"),
    }
}
