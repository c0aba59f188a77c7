//! The conditions of a MachineDeployment for clients of the API version v1beta1.

use engine::v1beta1::{self, READY, Severity, is_false, is_true, summary};
use schemas::cluster::{MachineDeploymentStatus, MachineSet};
use schemas::meta::V1Beta1Condition;

use super::facts::{is_on_delete, limits};
use super::observed::Observed;

const AVAILABLE: &str = "Available";
const MACHINE_SET_READY: &str = "MachineSetReady";

/// Sets these conditions. `new` is the MachineSet with the current template, if it exists.
pub fn set(status: &mut MachineDeploymentStatus, observed: &Observed, new: Option<&MachineSet>) {
    let available = available(status.available_replicas.unwrap_or(0), observed);
    let conditions =
        &mut status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default().conditions;
    for condition in [available, machine_set_ready(new)] {
        v1beta1::set(conditions, observed.now, condition);
    }
    if let Some(ready) = summary(conditions, &[AVAILABLE]) {
        v1beta1::set(conditions, observed.now, ready);
    }
}

fn available(available: i32, observed: &Observed) -> V1Beta1Condition {
    let deployment = observed.deployment.as_ref();
    let limits = limits(deployment);
    let unavailable = if is_on_delete(deployment) { 0 } else { limits.unavailable };
    let required = limits.replicas - unavailable;
    if available >= required {
        return is_true(AVAILABLE);
    }
    let message = format!("Minimum availability requires {required} replicas, current {available} available");
    is_false(AVAILABLE, Severity::Warning, "WaitingForAvailableMachines", message)
}

/// Repeats `Ready` of the MachineSet.
fn machine_set_ready(new: Option<&MachineSet>) -> V1Beta1Condition {
    const REASON: &str = "WaitingForMachineSet";
    let Some(new) = new else {
        return is_false(MACHINE_SET_READY, Severity::Info, REASON, "MachineSet not found");
    };
    let deprecated = new.status.as_ref().and_then(|status| status.deprecated.as_ref()?.v1beta1.as_ref());
    let mut conditions = deprecated.into_iter().flat_map(|deprecated| &deprecated.conditions);
    match conditions.find(|condition| condition.type_ == READY) {
        Some(ready) => V1Beta1Condition { type_: MACHINE_SET_READY.to_owned(), ..ready.clone() },
        None => is_false(MACHINE_SET_READY, Severity::Info, REASON, ""),
    }
}
