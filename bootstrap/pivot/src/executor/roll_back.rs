//! Reverts a pivot before its hand-over: the copies at the target are deleted, and then the source is unpaused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pause::pause_patch;
use super::snapshot::Snapshot;
use super::write::{patch_path, uid_of};
use crate::comparison::Comparison;
use crate::desired::{Identities, desired};
use crate::error::Result;
use crate::journal::{Before, Journal, Record, State};
use crate::names;
use crate::object::Key;
use crate::server::{Server, at_once};

/// Deletes the copies, dependents first, and unpauses the source. Every step can be repeated.
pub(super) async fn roll_back(
    source: &Server,
    target: &Server,
    journal: &mut Journal,
    snapshot: &Snapshot,
) -> Result<()> {
    note_begin(journal)?;
    let state = journal.state();
    let plan = state.plan.clone().unwrap_or_default();
    let made = |key: &&Key| state.copying.contains(*key) && !state.left.contains_key(*key);
    let planned: Vec<Vec<&Key>> = plan
        .groups
        .iter()
        .rev()
        .map(|group| group.iter().map(|step| &step.object).filter(made).collect())
        .collect();
    let known: BTreeSet<&Key> = planned.iter().flatten().copied().collect();
    let vanished: Vec<&Key> = state.copying.iter().filter(|key| !known.contains(*key)).collect();
    for keys in std::iter::once(&vanished).chain(&planned) {
        at_once(keys.iter().map(|key| remove_copy(target, state, snapshot, key))).await?;
    }
    at_source(source, journal, snapshot).await
}

fn note_begin(journal: &mut Journal) -> Result<()> {
    if journal.state().rolling_back { Ok(()) } else { journal.append(Record::RollingBack) }
}

/// Unpauses the source.
pub(super) async fn at_source(source: &Server, journal: &mut Journal, snapshot: &Snapshot) -> Result<()> {
    note_begin(journal)?;
    let paused = journal.state().before.values();
    at_once(paused.map(|before| restore(source, snapshot, before))).await?;
    journal.append(Record::RolledBack)?;
    Ok(())
}

/// Removes the copies of objects that the source has lost since they were copied.
pub(super) async fn remove_vanished(target: &Server, state: &State, snapshot: &Snapshot) -> Result<()> {
    for key in state.copied.keys().filter(|key| snapshot.item(key).is_none()) {
        remove_copy(target, state, snapshot, key).await?;
    }
    Ok(())
}

/// Deletes a copy at the target if it belongs to this pivot: it has the recorded UID or, if a kill prevented the record, it is
/// equal to the object that was to be created.
async fn remove_copy(target: &Server, state: &State, snapshot: &Snapshot, key: &Key) -> Result<()> {
    let Some(kind) = snapshot.kind_of(key) else { return Ok(()) };
    let (what, path) = (format!("get {key}"), key.path(kind));
    let Some(there) = target.find(&what, &path).await? else { return Ok(()) };
    let ours = match (state.copied.get(key), snapshot.item(key)) {
        (Some(uid), _) => uid == uid_of(&there),
        (None, Some(item)) => {
            let wanted = desired(item, state.before.get(key), &Identities::default());
            Comparison::but_for_owners(&wanted.object, &there).difference.is_none()
        }
        (None, None) => false,
    };
    if !ours {
        tracing::warn!(object = %key, "left at the target: it is not what this pivot created");
        return Ok(());
    }
    if held(&there) {
        release_copy(target, key, &path, uid_of(&there)).await?;
    }
    let options = json!({
        "propagationPolicy": "Background",
        "preconditions": {"uid": uid_of(&there)},
    });
    let answer = target.delete(&format!("delete {key}"), &path, &options).await?;
    // Controllers of the target may have set their finalizers again before they saw the deletion.
    if answer.is_some_and(|answer| held(&answer)) {
        release_copy(target, key, &path, uid_of(&there)).await?;
    }
    Ok(())
}

async fn release_copy(target: &Server, key: &Key, path: &str, uid: &str) -> Result<()> {
    let patch = json!({"metadata": {
        "uid": uid, "finalizers": null, "annotations": {names::DELETE_FOR_MOVE: ""},
    }});
    target.merge_if_there(&format!("release {key}"), path, &patch).await
}

/// Restores the original pause of a Cluster or ClusterClass at the source.
async fn restore(source: &Server, snapshot: &Snapshot, before: &Before) -> Result<()> {
    let key = &before.object;
    let Some(kind) = snapshot.kind_of(key) else { return Ok(()) };
    let mut patch = pause_patch(key, &before.paused);
    for name in [names::MOVING, names::MOVED_TO] {
        patch["metadata"]["annotations"][name] = Value::Null;
    }
    if !before.managed_fields.is_null() {
        patch["metadata"]["managedFields"] = before.managed_fields.clone();
    }
    source.merge_if_there(&format!("unpause {key}"), &patch_path(kind, key), &patch).await
}

/// Returns whether an object, or the last state of a deleted one, has finalizers.
fn held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}
