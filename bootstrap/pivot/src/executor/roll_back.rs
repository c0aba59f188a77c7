//! Reverts a pivot before its hand-over: the copies at the target are deleted, and then the source is unpaused.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::pause::pause_patch;
use super::write::uid_of;
use super::{Pivot, Work, path};
use crate::comparison::Comparison;
use crate::desired::{Identities, desired};
use crate::error::Result;
use crate::journal::{Before, Record};
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::progress::Phase;
use crate::server::PatchKind;

impl Pivot {
    /// Deletes the copies, dependents first, and unpauses the source. Every step can be repeated.
    pub(super) async fn undo(&mut self, work: &Work) -> Result<()> {
        let began = self.begin(Phase::RollBack);
        if !self.journal.state().rolling_back {
            self.journal.append(Record::RollingBack)?;
        }
        let state = self.journal.state();
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
            let removals: Vec<_> = keys.iter().map(|key| self.remove_copy(work, key)).collect();
            stream::iter(removals).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        }
        self.end(Phase::RollBack, began);
        self.undo_at_source(work).await
    }

    /// Unpauses the source.
    pub(super) async fn undo_at_source(&mut self, work: &Work) -> Result<()> {
        let began = self.begin(Phase::RollBack);
        if !self.journal.state().rolling_back {
            self.journal.append(Record::RollingBack)?;
        }
        let state = self.journal.state();
        let restored: Vec<_> = state.before.values().map(|before| self.restore(work, before)).collect();
        stream::iter(restored).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        self.journal.append(Record::RolledBack)?;
        self.end(Phase::RollBack, began);
        Ok(())
    }

    /// Deletes a copy at the target if it belongs to this pivot: it has the recorded UID or, if a kill prevented the record, it is
    /// equal to the object that was to be created.
    pub(super) async fn remove_copy(&self, work: &Work, key: &Key) -> Result<()> {
        let Some(kind) = work.kind_of(key) else { return Ok(()) };
        let (what, path) = (format!("get {key}"), path(kind, key));
        let Some(there) = self.target.find(&what, &path).await? else { return Ok(()) };
        let state = self.journal.state();
        let ours = match (state.copied.get(key), work.inventory.items.get(key)) {
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
            self.release_copy(key, &path, uid_of(&there)).await?;
        }
        let options = json!({
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid_of(&there)},
        });
        let answer = self.target.delete(&format!("delete {key}"), &path, &options).await?;
        // Controllers of the target may have set their finalizers again before they saw the deletion.
        if answer.is_some_and(|answer| held(&answer)) {
            self.release_copy(key, &path, uid_of(&there)).await?;
        }
        Ok(())
    }

    async fn release_copy(&self, key: &Key, path: &str, uid: &str) -> Result<()> {
        let patch = json!({"metadata": {
            "uid": uid, "finalizers": null, "annotations": {names::DELETE_FOR_MOVE: ""},
        }});
        match self.target.patch(&format!("release {key}"), path, PatchKind::Merge, &patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Restores the original pause of a Cluster or ClusterClass at the source.
    async fn restore(&self, work: &Work, before: &Before) -> Result<()> {
        let key = &before.object;
        let Some(kind) = work.kind_of(key) else { return Ok(()) };
        let mut patch = pause_patch(key, &before.paused);
        for name in [names::MOVING, names::MOVED_TO] {
            patch["metadata"]["annotations"][name] = Value::Null;
        }
        if !before.managed_fields.is_null() {
            patch["metadata"]["managedFields"] = before.managed_fields.clone();
        }
        let path = format!("{}?fieldManager={}", path(kind, key), names::FIELD_MANAGER);
        match self.source.patch(&format!("unpause {key}"), &path, PatchKind::Merge, &patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns whether an object, or the last state of a deleted one, has finalizers.
fn held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}
