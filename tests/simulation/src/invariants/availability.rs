//! Rollouts and scaling keep as many workers available as the MachineDeployment demands.

use super::object::{DEPLOYMENT, is_deleting, label, name};
use super::reasons::begins_to_go;
use super::rest::is_true;
use super::view::{Change, View};

/// No available worker is deleted if fewer than demanded stay available. The rule is silent about clusters whose machines are disturbed:
/// a machine may then fail between the decision and the deletion.
pub(super) fn of_workers(view: &View, change: &Change<'_>) -> Option<String> {
    let machine = begins_to_go(change)?;
    let deployment = label(machine, DEPLOYMENT)?;
    let (key, owner) = view.owner(machine)?;
    let was_available = change.old.is_some_and(|old| is_true(old, "Available"));
    let is_ours = !view.deleted().contains(change.key)
        && !is_deleting(owner)
        && !view.cluster(machine).is_none_or(is_deleting);
    let is_calm = !view.is_disturbed(machine)
        && !view
            .machines(machine, |other| label(other, DEPLOYMENT) == Some(deployment))
            .any(|(_, other)| view.was_sick_lately(other));
    if !was_available || !is_ours || !is_calm {
        return None;
    }
    let available = view.machines(machine, |other| {
        label(other, DEPLOYMENT) == Some(deployment) && !is_deleting(other) && is_true(other, "Available")
    });
    let available = i64::try_from(available.count()).unwrap_or(i64::MAX);
    let fewest = view.fewest_available(&key)?;
    (available < fewest).then(|| {
        format!(
            "availability: Machine {} of {deployment} was deleted, {available} available ones stay, and {fewest} must",
            name(machine)
        )
    })
}
