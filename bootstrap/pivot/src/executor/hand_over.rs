//! The hand-over: first the source's clusters are marked as moved, and then the target is unpaused.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::pause::pause_patch;
use super::snapshot::Snapshot;
use super::write::patch_path;
use crate::desired::{Identities, with_owners_of_target};
use crate::error::Result;
use crate::inventory::Item;
use crate::journal::{Before, Journal, Record, State};
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::Key;
use crate::server::{PatchKind, Server, at_once};

/// Marks the source's Clusters and ClusterClasses as moved, and returns their resource versions then; `None` if one of them has changed
/// since it was copied.
pub(super) async fn mark(
    source: &Server,
    journal: &mut Journal,
    snapshot: &Snapshot,
) -> Result<Option<BTreeMap<Key, String>>> {
    if !journal.state().handing_over {
        journal.append(Record::HandingOver)?;
    }
    let target = journal.state().header.as_ref().map(|header| header.target.as_str()).unwrap_or_default();
    let roots = snapshot.inventory().roots();
    let marked = at_once(roots.map(|item| mark_one(source, snapshot, item, target))).await?;
    Ok(marked.into_iter().collect())
}

/// Returns the `resourceVersion` of the marked object; `None` if it has changed since it was copied.
async fn mark_one(
    source: &Server,
    snapshot: &Snapshot,
    item: &Item,
    target: &str,
) -> Result<Option<(Key, String)>> {
    let key = &item.object.key;
    let kind = snapshot.kind(item.kind);
    let path = patch_path(kind, key);
    let version =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let mut before = item.object.resource_version.clone();
    for _ in 0..limits::RETRIES {
        let patch = json!({
            "metadata": {"resourceVersion": before, "annotations": {names::MOVED_TO: target}},
        });
        match source.patch(&format!("mark {key} as moved"), &path, PatchKind::Merge, &patch).await {
            Err(error) if error.is_conflict() => {}
            outcome => return outcome.map(|marked| Some((key.clone(), version(&marked)))),
        }
        let now: Value = source.get(&format!("get {key}"), &key.path(kind)).await?;
        before = version(&now);
        if fingerprint(now) != item.fingerprint {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Restores the original pause (or none) and the field managers of the target's Clusters and ClusterClasses. Classes come first.
pub(super) async fn unpause(
    target: &Server,
    state: &State,
    snapshot: &Snapshot,
    identities: &mut Identities,
) -> Result<()> {
    identities.learn(&snapshot.inventory().plan, state);
    let (classes, clusters): (Vec<&Before>, Vec<&Before>) =
        state.before.values().partition(|before| before.object.is_class());
    for befores in [classes, clusters] {
        let each = |before| unpause_one(target, state, snapshot, identities, before);
        at_once(befores.into_iter().map(each)).await?;
    }
    let copied =
        snapshot.inventory().items.values().filter(|item| state.copied.contains_key(&item.object.key));
    let paused = copied.filter_map(|item| Some((item, paused_by(item)?)));
    at_once(paused.map(|(item, pause)| resume_one(target, snapshot, item, pause))).await?;
    Ok(())
}

/// Removes the annotation with which a provider of the source has paused an object for the move.
async fn resume_one(target: &Server, snapshot: &Snapshot, item: &Item, pause: String) -> Result<()> {
    let key = &item.object.key;
    let path = patch_path(snapshot.kind(item.kind), key);
    let patch = json!({"metadata": {"annotations": {pause: Value::Null}}});
    target.merge_if_there(&format!("resume {key}"), &path, &patch).await
}

async fn unpause_one(
    target: &Server,
    state: &State,
    snapshot: &Snapshot,
    identities: &Identities,
    before: &Before,
) -> Result<()> {
    let key = &before.object;
    let Some(kind) = snapshot.kind_of(key) else { return Ok(()) };
    let copied = state.copied.contains_key(key);
    if !copied && !state.left.contains_key(key) {
        return Ok(());
    }
    let mut patch = pause_patch(key, &before.paused);
    if copied {
        let managers = with_owners_of_target(before.managed_fields.clone(), identities);
        if !managers.is_null() {
            patch["metadata"]["managedFields"] = managers;
        }
    } else if before.paused == true {
        return Ok(());
    }
    // An object that was deleted at the target after its verification was deleted on purpose.
    target.merge_if_there(&format!("unpause {key}"), &patch_path(kind, key), &patch).await
}

/// Returns the annotation that pauses an object at the target until the hand-over is complete.
fn paused_by(item: &Item) -> Option<String> {
    // Few objects have it, and a value is expensive.
    if !item.object.text.get().contains(names::PAUSED_BY) {
        return None;
    }
    item.object.value()["metadata"]["annotations"][names::PAUSED_BY].as_str().map(str::to_owned)
}
