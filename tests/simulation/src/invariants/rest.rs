//! What objects must say when there is nothing left to do.

use serde_json::Value;

use super::object::name;

/// Conditions that are False in a good state.
const NEGATIVE: [&str; 7] =
    ["Deleting", "Paused", "Remediating", "RollingOut", "ScalingDown", "ScalingUp", "Updating"];
/// The kinds whose conditions are looked at.
const KINDS: [&str; 9] = [
    "Cluster",
    "DevCluster",
    "DevMachine",
    "KubeadmConfig",
    "KubeadmControlPlane",
    "Machine",
    "MachineDeployment",
    "MachineHealthCheck",
    "MachineSet",
];

/// Returns a condition of an object.
pub(super) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|condition| condition["type"] == type_)
}

/// Returns whether an object has this condition, and it is True.
pub fn is_true(object: &Value, type_: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition["status"] == "True")
}

/// Returns what is wrong with the conditions of an object at rest, in words; empty if nothing is.
pub fn conditions_at_rest(object: &Value) -> Vec<String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    if !KINDS.contains(&kind) {
        return Vec::new();
    }
    let conditions = object["status"]["conditions"].as_array();
    let is_bad = |condition: &&Value| {
        let is_negative = NEGATIVE.iter().any(|type_| condition["type"] == *type_);
        condition["status"] != if is_negative { "False" } else { "True" }
    };
    let bad = conditions.into_iter().flatten().filter(is_bad);
    let mut found: Vec<String> = bad
        .map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!(
                "{kind} {}: {} is {} ({}: {})",
                name(object),
                text("type"),
                text("status"),
                text("reason"),
                text("message")
            )
        })
        .collect();
    let (observed, generation) = (&object["status"]["observedGeneration"], &object["metadata"]["generation"]);
    if observed.is_number() && observed != generation {
        found.push(format!(
            "{kind} {}: observedGeneration is {observed}, generation is {generation}",
            name(object)
        ));
    }
    found
}
