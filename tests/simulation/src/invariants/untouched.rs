//! What does not belong to a cluster, and what is paused, is left alone.

use chrono::TimeDelta;
use serde_json::Value;

use super::object::{is_deleting, label, name};
use super::view::{Change, View};

/// Label of objects that belong to nobody.
pub const FOREIGN: &str = "simulation.firstlight.dev/foreign";
/// Controllers notice within this time that a cluster is paused.
const NOTICED: TimeDelta = TimeDelta::seconds(30);
/// The kinds that only controllers create and change.
const OURS: [&str; 5] = ["Machine", "MachineSet", "DevMachine", "KubeadmConfig", "DevMachinePool"];

/// Objects that are not ours never change.
pub(super) fn what_is_not_ours(_: &View, change: &Change<'_>) -> Option<String> {
    let old = change.old.filter(|old| label(old, FOREIGN).is_some())?;
    (Some(old) != change.new)
        .then(|| format!("foreign: {} was changed: {} became {:?}", change.key, old, change.new))
}

/// Nothing is created, changed or deleted in a cluster that is paused, except by the user.
pub(super) fn while_paused(view: &View, change: &Change<'_>) -> Option<String> {
    let object =
        change.new.or(change.old).filter(|object| OURS.iter().any(|kind| object["kind"] == *kind))?;
    let since = view.is_paused_since(object)?;
    if since + NOTICED + view.delay() > view.now() || view.deleted().contains(change.key) {
        return None;
    }
    let generation = |object: &Value| object["metadata"]["generation"].as_i64();
    let is_changed = match (change.old, change.new) {
        (Some(old), Some(new)) => generation(old) != generation(new) || is_deleting(old) != is_deleting(new),
        _ => true,
    };
    is_changed.then(|| format!("paused: {} {} changed in a paused cluster", object["kind"], name(object)))
}
