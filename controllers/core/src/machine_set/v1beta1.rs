//! The conditions of a MachineSet for clients of the API version v1beta1.

use engine::object::is_deleting;
use engine::v1beta1::machines::machines_ready;
use engine::v1beta1::{self, Severity, is_false, is_true, summary};
use schemas::cluster::MachineSetStatus;
use schemas::meta::V1Beta1Condition;

use super::observed::Observed;

const MACHINES_CREATED: &str = "MachinesCreated";
const MACHINES_READY: &str = "MachinesReady";
const RESIZED: &str = "Resized";

/// Sets these conditions; `status` has its counters. `blocked` has the reasons why no Machine may be created.
pub fn set(status: &mut MachineSetStatus, observed: &Observed, blocked: &[String]) {
    let current = status.replicas.unwrap_or(0);
    let is_going = is_deleting(observed.set.as_ref());
    let desired = if is_going { Some(0) } else { observed.set.spec.replicas };
    let deprecated = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    let is_ready = deprecated.ready_replicas == Some(current);
    let mut all = vec![machines_ready(&observed.machines)];
    if let Some(desired) = desired {
        all.push(machines_created(current < desired, blocked));
        all.extend(resized(current, desired, is_ready));
    }
    for condition in all {
        v1beta1::set(&mut deprecated.conditions, observed.now, condition);
    }
    if let Some(ready) = summary(&deprecated.conditions, &[MACHINES_CREATED, RESIZED, MACHINES_READY]) {
        v1beta1::set(&mut deprecated.conditions, observed.now, ready);
    }
}

fn machines_created(is_missing: bool, blocked: &[String]) -> V1Beta1Condition {
    if !is_missing || blocked.is_empty() {
        return is_true(MACHINES_CREATED);
    }
    let reasons: Vec<&str> = blocked.iter().map(|reason| reason.trim_start_matches("* ")).collect();
    is_false(MACHINES_CREATED, Severity::Error, "PreflightCheckFailed", reasons.join("; "))
}

/// Returns `Resized`, which stays as it is until all Machines are ready after a change of their number.
fn resized(current: i32, desired: i32, is_ready: bool) -> Option<V1Beta1Condition> {
    let (reason, direction) = match current.cmp(&desired) {
        std::cmp::Ordering::Less => ("ScalingUp", "up"),
        std::cmp::Ordering::Greater => ("ScalingDown", "down"),
        std::cmp::Ordering::Equal => return is_ready.then(|| is_true(RESIZED)),
    };
    let message = format!("Scaling {direction} MachineSet to {desired} replicas (actual {current})");
    Some(is_false(RESIZED, Severity::Warning, reason, message))
}
