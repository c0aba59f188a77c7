//! The fields of a Machine's status that only clients of v1beta1 read: conditions with severities, and
//! failures.

use engine::conditions::{FALSE, TRUE, UNKNOWN};
use engine::object::is_deleting;
use engine::v1beta1::machines::{REPEATED, repeated};
use engine::v1beta1::{
    self, READY, Severity, has, is_false, is_true, is_unknown, mirror, shortened, summary,
};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::Machine;
use schemas::meta::{FailureV1Beta1DeprecatedStatus, V1Beta1Condition};

use super::changes::{Plan, Step};
use super::facts::{is_data_secret_created, is_infrastructure_provisioned, node_name, was_provisioned};
use super::observed::{NodeState, Observed};
use crate::change::Reference;

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
    for type_ in REPEATED {
        let condition = repeated(&plan.machine, type_);
        let conditions = &mut older(&mut plan.machine).conditions;
        match condition {
            Some(condition) => v1beta1::set(conditions, observed.now, condition),
            None => v1beta1::remove(conditions, type_),
        }
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
    let (reason, message) = ("NodeConditionsFailed", issues.join(". "));
    match is_bad {
        true => is_false(type_, Severity::Warning, reason, message),
        false => is_unknown(type_, reason, message),
    }
}

/// Returns `Ready`. While the Machine is provisioned, its message counts the steps.
fn ready(machine: &mut Machine) -> V1Beta1Condition {
    let counts_steps = !is_deleting(machine) && machine.spec.provider_id.is_none();
    let conditions = &older(machine).conditions;
    let mut ready = summary(conditions, &SUMMARIZED).unwrap_or_else(|| is_true(READY));
    if counts_steps && ready.status == FALSE {
        let done = SUMMARIZED[..2].iter().filter(|type_| has(conditions, type_)).count();
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
        older.failure_message = message.map(shortened).or(older.failure_message.take());
    }
}

fn older(machine: &mut Machine) -> &mut FailureV1Beta1DeprecatedStatus {
    let status = machine.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default()
}
