//! Pauses the source.

use serde_json::{Value, json};

use super::phases::Phases;
use super::snapshot::Snapshot;
use super::write::patch_path;
use crate::error::Result;
use crate::inventory::Item;
use crate::journal::{Before, Journal, Record};
use crate::names;
use crate::object::Key;
use crate::progress::Phase;
use crate::server::{PatchKind, Server, at_once};

/// Returns the merge patch that sets the pause of a Cluster or ClusterClass to `value`; null removes it.
pub(super) fn pause_patch(key: &Key, value: &Value) -> Value {
    if key.is_cluster() {
        json!({"spec": {"paused": value}})
    } else {
        json!({"metadata": {"annotations": {names::PAUSED: value}}})
    }
}

/// Returns the current pause; null if there is none.
fn pause_of(key: &Key, object: &Value) -> Value {
    if key.is_cluster() {
        object["spec"]["paused"].clone()
    } else {
        object["metadata"]["annotations"][names::PAUSED].clone()
    }
}

/// Returns the merge patch that pauses an object and informs a Cluster's providers of the move; `None` if nothing has to change.
fn pausing(key: &Key, object: &Value) -> Option<Value> {
    let pause = pause_of(key, object);
    if !key.is_cluster() {
        return (!pause.is_string()).then(|| pause_patch(key, &"".into()));
    }
    let told = object["metadata"]["annotations"][names::MOVING].is_string();
    (pause != true || !told)
        .then(|| json!({"metadata": {"annotations": {names::MOVING: ""}}, "spec": {"paused": true}}))
}

/// Pauses all moving Clusters and ClusterClasses, and records whether the user had paused them.
pub(super) async fn pause(
    source: &Server,
    journal: &mut Journal,
    phases: &Phases,
    snapshot: &Snapshot,
) -> Result<()> {
    let roots: Vec<(&Item, Value)> =
        snapshot.inventory().roots().map(|item| (item, item.object.value())).collect();
    let state = journal.state();
    let new: Vec<Before> = roots
        .iter()
        .filter(|(item, _)| !state.before.contains_key(&item.object.key))
        .map(|(item, value)| Before {
            object: item.object.key.clone(),
            paused: pause_of(&item.object.key, value),
            managed_fields: value["metadata"]["managedFields"].clone(),
        })
        .collect();
    if new.is_empty() && state.paused {
        return Ok(());
    }
    if !new.is_empty() {
        journal.append(Record::Pausing(new))?;
    }
    let patches: Vec<_> = roots
        .iter()
        .filter_map(|(item, value)| Some((*item, pausing(&item.object.key, value)?)))
        .map(|(item, patch)| async move {
            let key = &item.object.key;
            let path = patch_path(snapshot.kind(item.kind), key);
            source.patch(&format!("pause {key}"), &path, PatchKind::Merge, &patch).await.map(drop)
        })
        .collect();
    let count = patches.len();
    at_once(patches).await?;
    phases.at(Phase::Pause, count, count);
    journal.append(Record::Paused)?;
    Ok(())
}
