//! The fields of a Machine's status that only clients of v1beta1 read: conditions with severities, and
//! failures.

use engine::ExternalObject;
use engine::conditions::{FALSE, TRUE, UNKNOWN};
use engine::object::is_deleting;
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::Machine;
use schemas::meta::{FailureV1Beta1DeprecatedStatus, V1Beta1Condition};

use super::changes::{Plan, Step};
use super::facts::{is_data_secret_created, is_infrastructure_provisioned, node_name, was_provisioned};
use super::observed::{NodeState, Observed};
use crate::change::Reference;
use crate::v1beta1::{self, READY, Severity, is_false, is_true};

/// The conditions that `Ready` summarizes; of several with the same severity the first counts.
const SUMMARIZED: [&str; 5] =
    ["InfrastructureReady", "BootstrapReady", "HealthCheckSucceeded", "OwnerRemediated", "DrainingSucceeded"];

/// Sets the conditions about the Machine's parts, `Ready`, and the failures.
pub fn set(plan: &mut Plan, observed: &Observed, step: &Step) {
    let conditions = [
        bootstrap_ready(&plan.machine, observed),
        infrastructure_ready(observed),
        node_healthy(plan, observed),
    ];
    for condition in conditions.into_iter().flatten().chain(pending(step)) {
        v1beta1::set(&mut older(&mut plan.machine).conditions, observed.now, condition);
    }
    let ready = ready(&mut plan.machine);
    v1beta1::set(&mut older(&mut plan.machine).conditions, observed.now, ready);
    failure(&mut plan.machine, observed);
}

/// Records that a step of the deletion is complete.
pub fn succeeded(plan: &mut Plan, observed: &Observed, type_: &str) {
    v1beta1::set(&mut older(&mut plan.machine).conditions, observed.now, is_true(type_));
}

/// Returns the condition of the deletion's step that waits.
fn pending(step: &Step) -> Option<V1Beta1Condition> {
    let Step::Waiting(stage, message) = step else { return None };
    let hook = |type_| is_false(type_, Severity::Info, "WaitingExternalHook", "");
    Some(match *stage {
        "WaitingForPreDrainHook" => hook("PreDrainDeleteHookSucceeded"),
        "DrainingNode" => is_false("DrainingSucceeded", Severity::Info, "Draining", message.as_str()),
        "WaitingForVolumeDetach" => is_false(
            "VolumeDetachSucceeded",
            Severity::Info,
            "WaitingForVolumeDetach",
            "Waiting for node volumes to be detached",
        ),
        "WaitingForPreTerminateHook" => hook("PreTerminateDeleteHookSucceeded"),
        _ => return None,
    })
}

fn bootstrap_ready(machine: &Machine, observed: &Observed) -> Option<V1Beta1Condition> {
    const TYPE: &str = "BootstrapReady";
    match &observed.bootstrap {
        Reference::NotFound if is_deleting(machine) => Some(is_false(TYPE, Severity::Info, "Deleted", "")),
        Reference::None | Reference::Found(_) if machine.spec.bootstrap.data_secret_name.is_some() => {
            Some(is_true(TYPE))
        }
        Reference::Found(object) => {
            Some(mirror(TYPE, object, is_data_secret_created(object), "WaitingForDataSecret"))
        }
        Reference::None | Reference::NotFound | Reference::Failed(_) => None,
    }
}

fn infrastructure_ready(observed: &Observed) -> Option<V1Beta1Condition> {
    const TYPE: &str = "InfrastructureReady";
    match &observed.infrastructure {
        Reference::NotFound if is_deleting(observed.machine.as_ref()) => {
            Some(is_false(TYPE, Severity::Info, "Deleted", ""))
        }
        Reference::Found(object) => {
            Some(mirror(TYPE, object, is_infrastructure_provisioned(object), "WaitingForInfrastructure"))
        }
        Reference::None | Reference::NotFound | Reference::Failed(_) => None,
    }
}

/// Returns the provider's `Ready`; if it reports none, whether its contract says that it is.
fn mirror(type_: &str, object: &ExternalObject, is_ready: bool, waiting: &str) -> V1Beta1Condition {
    let conditions = object.get("/status/conditions").and_then(|conditions| conditions.as_array());
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == READY);
    let Some(ready) = ready else {
        return if is_ready { is_true(type_) } else { is_false(type_, Severity::Info, waiting, "") };
    };
    let text = |field: &str| ready[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    V1Beta1Condition {
        type_: type_.to_owned(),
        status: text("status").unwrap_or_else(|| UNKNOWN.to_owned()),
        severity: text("severity"),
        reason: text("reason"),
        message: text("message"),
        ..V1Beta1Condition::default()
    }
}

/// Returns the state of the Node; `None` if it is not known.
fn node_healthy(plan: &Plan, observed: &Observed) -> Option<V1Beta1Condition> {
    const TYPE: &str = "NodeHealthy";
    let machine = &plan.machine;
    if machine.spec.provider_id.is_none() {
        return Some(is_false(TYPE, Severity::Info, "WaitingForNodeRef", ""));
    }
    match &observed.node {
        NodeState::Found(node) => Some(node_conditions(TYPE, node)),
        NodeState::Absent if is_deleting(machine) => Some(is_false(TYPE, Severity::Info, "Deleting", "")),
        NodeState::Absent if node_name(machine).is_some() => {
            Some(is_false(TYPE, Severity::Error, "NodeNotFound", ""))
        }
        NodeState::Absent => Some(is_false(
            TYPE,
            Severity::Warning,
            "NodeProvisioning",
            "Waiting for a node with matching ProviderID to exist",
        )),
        NodeState::NotConnected | NodeState::Ambiguous(_) => None,
    }
}

fn node_conditions(type_: &str, node: &Node) -> V1Beta1Condition {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let (mut is_bad, mut issues) = (false, Vec::new());
    for condition in conditions {
        let expected = match condition.type_.as_str() {
            "Ready" => TRUE,
            "MemoryPressure" | "DiskPressure" | "PIDPressure" => FALSE,
            _ => continue,
        };
        if condition.status != expected {
            is_bad |= condition.status != UNKNOWN;
            issues.push(format!("Node condition {} is {}", condition.type_, condition.status));
        }
    }
    if issues.is_empty() {
        return is_true(type_);
    }
    let mut condition = is_false(type_, Severity::Warning, "NodeConditionsFailed", issues.join(". "));
    if !is_bad {
        condition.status = UNKNOWN.to_owned();
        condition.severity = None;
    }
    condition
}

/// Returns `Ready`: the worst of the summarized conditions. While the Machine is provisioned, its message
/// counts the steps.
fn ready(machine: &mut Machine) -> V1Beta1Condition {
    let counts_steps = !is_deleting(machine) && machine.spec.provider_id.is_none();
    let conditions = &older(machine).conditions;
    let find = |type_: &&str| conditions.iter().find(|condition| condition.type_ == **type_);
    let rank = |condition: &&V1Beta1Condition| match (&*condition.status, condition.severity.as_deref()) {
        (FALSE, Some("Error")) => 0,
        (FALSE, Some("Warning")) => 1,
        (FALSE, _) => 2,
        (TRUE, _) => 3,
        _ => 4,
    };
    let worst = SUMMARIZED.iter().filter_map(find).min_by_key(rank);
    let mut ready = match worst {
        Some(condition) if condition.status != TRUE => {
            V1Beta1Condition { type_: READY.to_owned(), ..condition.clone() }
        }
        _ => is_true(READY),
    };
    if counts_steps && ready.status == FALSE {
        let steps = SUMMARIZED[..2].iter().filter_map(find);
        let done = steps.filter(|condition| condition.status == TRUE).count();
        ready.message = Some(format!("{done} of 2 completed"));
    }
    ready
}

/// Records failures that need somebody's help: those of the provider, and infrastructure that was deleted.
fn failure(machine: &mut Machine, observed: &Observed) {
    let reference = &observed.machine.spec.infrastructure_ref;
    let what = format!("resource {} with name \"{}\"", reference.kind, reference.name);
    let (reason, message) = match &observed.infrastructure {
        Reference::Found(object) => {
            let text = |pointer: &str| object.text(pointer).map(str::to_owned);
            let message = text("/status/failureMessage")
                .map(|message| format!("Failure detected from referenced {what}: {message}"));
            (text("/status/failureReason"), message)
        }
        Reference::NotFound if was_provisioned(machine) && !is_deleting(machine) => {
            let message = format!("Machine infrastructure {what} has been deleted after being ready");
            (Some("InvalidConfiguration".to_owned()), Some(message))
        }
        _ => (None, None),
    };
    if reason.is_some() || message.is_some() {
        let older = older(machine);
        older.failure_reason = reason.or(older.failure_reason.take());
        older.failure_message = message.or(older.failure_message.take());
    }
}

fn older(machine: &mut Machine) -> &mut FailureV1Beta1DeprecatedStatus {
    let status = machine.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default()
}
