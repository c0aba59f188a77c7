//! The conditions of what has replicas: MachineSets and MachineDeployments.

use engine::conditions::{self, TRUE, is_false, is_unknown};
use schemas::cluster::MachineSpec;
use schemas::meta::Condition;

use crate::change::Reference;

/// What has to exist before a Machine can be made, and does not.
pub fn missing_templates(
    spec: &MachineSpec,
    bootstrap: &Reference,
    infrastructure: &Reference,
) -> Vec<String> {
    let config = spec.bootstrap.config_ref.as_ref().map_or("", |reference| reference.kind.as_str());
    let rows = [(bootstrap, config), (infrastructure, spec.infrastructure_ref.kind.as_str())];
    let missing = rows.iter().filter(|(reference, _)| matches!(reference, Reference::NotFound));
    missing.map(|(_, kind)| format!("* {kind} does not exist")).collect()
}

/// `ScalingUp`. `missing` would block making any Machine, `blocked` blocks those that are to be made now.
pub fn scaling_up(desired: Option<i32>, current: i32, missing: &[String], blocked: &[String]) -> Condition {
    const TYPE: &str = "ScalingUp";
    let Some(desired) = desired else { return no_replicas(TYPE) };
    if current >= desired {
        let message = if missing.is_empty() {
            String::new()
        } else {
            format!("Scaling up would be blocked because:\n{}", missing.join("\n"))
        };
        return is_false(TYPE, "NotScalingUp", message);
    }
    let mut message = format!("Scaling up from {current} to {desired} replicas");
    let reasons: Vec<&str> = missing.iter().chain(blocked).map(String::as_str).collect();
    if !reasons.is_empty() {
        message.push_str(&format!(" is blocked because:\n{}", reasons.join("\n")));
    }
    conditions::new(TYPE, TRUE, TYPE, message)
}

/// `ScalingDown`.
pub fn scaling_down(desired: Option<i32>, current: i32) -> Condition {
    const TYPE: &str = "ScalingDown";
    match desired {
        None => no_replicas(TYPE),
        Some(desired) if current > desired => {
            let message = format!("Scaling down from {current} to {desired} replicas");
            conditions::new(TYPE, TRUE, TYPE, message)
        }
        Some(_) => is_false(TYPE, "NotScalingDown", ""),
    }
}

fn no_replicas(type_: &'static str) -> Condition {
    is_unknown(type_, "WaitingForReplicasSet", "Waiting for spec.replicas set")
}
