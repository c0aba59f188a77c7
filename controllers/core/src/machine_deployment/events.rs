//! The events about the MachineSets of a MachineDeployment.

use engine::{Error, NamespacedName};
use schemas::cluster::MachineSet;

use crate::change::Event;

/// Returns the event about a MachineSet that was created or changed, or could not be; `None` if only other fields than the number of
/// replicas change, or if somebody else changed the MachineSet in the meantime, which the next reconcile takes into account.
pub fn applied(current: Option<&MachineSet>, wanted: &MachineSet, error: Option<&Error>) -> Option<Event> {
    if error.is_some_and(Error::is_conflict) {
        return None;
    }
    let to = wanted.spec.replicas.unwrap_or(0);
    let name = NamespacedName::of(wanted);
    let Some(current) = current else {
        return Some(match error {
            None => {
                Event::normal("SuccessfulCreate", format!("Created MachineSet {name} with {to} replicas"))
            }
            Some(error) => Event::warning("FailedCreate", format!("Failed to create a MachineSet: {error}")),
        });
    };
    let from = current.spec.replicas.unwrap_or(0);
    let name = name.name;
    match error {
        None if from == to => None,
        Some(error) if from == to => {
            let message = format!("Failed to update MachineSet {name}: {error}");
            Some(Event::warning("FailedUpdate", message))
        }
        Some(error) => {
            let message = format!("Failed to scale MachineSet {name}: {from} -> {to}: {error}");
            Some(Event::warning("FailedScale", message))
        }
        None => {
            let direction = if to > from { "up" } else { "down" };
            let message = format!("Scaled {direction} MachineSet {name}: {from} -> {to}");
            Some(Event::normal("SuccessfulScale", message))
        }
    }
}

/// Returns the event about a MachineSet that was deleted, or could not be.
pub fn deleted(set: &MachineSet, error: Option<&Error>) -> Event {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    match error {
        None => Event::normal("SuccessfulDelete", format!("Deleted MachineSet \"{name}\"")),
        Some(error) => Event::warning("FailedDelete", format!("Failed to delete MachineSet {name}: {error}")),
    }
}
