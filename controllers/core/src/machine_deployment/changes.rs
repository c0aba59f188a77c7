//! The steps that change the MachineSets of a MachineDeployment, with their events.

use std::sync::Arc;

use engine::steps::Event;
use engine::{NamespacedName, Step};
use schemas::cluster::MachineSet;

const FIELD_MANAGER: &str = "capi-machinedeployment";

/// Returns the step that creates a MachineSet, with `suffix` in its name, or changes it. No event tells that other fields than the number of
/// replicas have changed, or that somebody else has changed the MachineSet meanwhile.
pub fn change(current: Option<Arc<MachineSet>>, wanted: MachineSet, suffix: &str) -> Step {
    let to = wanted.spec.replicas.unwrap_or(0);
    let name = NamespacedName::of(&wanted);
    let Some(current) = current else {
        let message = format!("Created MachineSet {name} with {to} replicas");
        return Step::apply_new(FIELD_MANAGER, wanted)
            .without_suffix(suffix)
            .says(Event::normal("SuccessfulCreate", message))
            .warns_unless_conflict(Event::warning("FailedCreate", "Failed to create a MachineSet"));
    };
    let from = current.spec.replicas.unwrap_or(0);
    let name = name.name;
    let step = Step::apply(FIELD_MANAGER, &current, wanted);
    if from == to {
        let message = format!("Failed to update MachineSet {name}");
        return step.warns_unless_conflict(Event::warning("FailedUpdate", message));
    }
    let direction = if to > from { "up" } else { "down" };
    let scaled = format!("Scaled {direction} MachineSet {name}: {from} -> {to}");
    let failed = format!("Failed to scale MachineSet {name}: {from} -> {to}");
    step.says(Event::normal("SuccessfulScale", scaled))
        .warns_unless_conflict(Event::warning("FailedScale", failed))
}

/// Returns the step that deletes a MachineSet.
pub fn deletion(set: &Arc<MachineSet>) -> Step {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    Step::delete(set)
        .says(Event::normal("SuccessfulDelete", format!("Deleted MachineSet \"{name}\"")))
        .warns(Event::warning("FailedDelete", format!("Failed to delete MachineSet {name}")))
}
