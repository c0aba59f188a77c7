//! The hand-over: first the source's clusters are marked as moved, and then the target is unpaused.

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::pause::pause_patch;
use super::{Pivot, Work, path};
use crate::desired::with_owners_of_target;
use crate::error::Result;
use crate::inventory::Item;
use crate::journal::{Before, Record};
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::Key;
use crate::progress::Phase;
use crate::server::PatchKind;

impl Pivot {
    /// Marks the source's Clusters and ClusterClasses as moved. Returns `false` if one of them has changed since it was copied.
    pub(super) async fn mark(&mut self, work: &mut Work) -> Result<bool> {
        let began = self.begin(Phase::HandOver);
        if !self.journal.state().handing_over {
            self.journal.append(Record::HandingOver)?;
        }
        let target = self.journal.state().header.as_ref().map(|header| header.target.clone());
        let target = target.unwrap_or_default();
        let marks: Vec<_> = work.inventory.roots().map(|item| self.mark_one(work, item, &target)).collect();
        let marked: Vec<Option<(Key, String)>> =
            stream::iter(marks).buffer_unordered(limits::IN_FLIGHT).try_collect().await?;
        self.end(Phase::HandOver, began);
        let all = marked.len();
        work.marked = marked.into_iter().flatten().collect();
        Ok(work.marked.len() == all)
    }

    /// Returns the `resourceVersion` of the marked object; `None` if it has changed since it was copied.
    async fn mark_one(&self, work: &Work, item: &Item, target: &str) -> Result<Option<(Key, String)>> {
        let key = &item.object.key;
        let plain = path(work.kind(item.kind), key);
        let path = format!("{plain}?fieldManager={}", names::FIELD_MANAGER);
        let version =
            |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let mut before = item.object.resource_version.clone();
        for _ in 0..limits::RETRIES {
            let patch = json!({
                "metadata": {"resourceVersion": before, "annotations": {names::MOVED_TO: target}},
            });
            match self.source.patch(&format!("mark {key} as moved"), &path, PatchKind::Merge, &patch).await {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome.map(|marked| Some((key.clone(), version(&marked)))),
            }
            let now: Value = self.source.get(&format!("get {key}"), &plain).await?;
            before = version(&now);
            if fingerprint(now) != item.fingerprint {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Restores the original pause (or none) and the field managers of the target's Clusters and ClusterClasses. Classes come first.
    pub(super) async fn unpause_target(&mut self, work: &mut Work) -> Result<()> {
        let began = self.begin(Phase::HandOver);
        self.learn_identities(work);
        let (classes, clusters): (Vec<&Before>, Vec<&Before>) =
            self.journal.state().before.values().partition(|before| before.object.is_class());
        for befores in [classes, clusters] {
            let patches: Vec<_> = befores.iter().map(|before| self.unpause_one(work, before)).collect();
            stream::iter(patches).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        }
        let resumed = work.inventory.items.values().filter_map(|item| Some((item, paused_by(item)?)));
        let patches: Vec<_> = resumed.map(|(item, pause)| self.resume_one(work, item, pause)).collect();
        stream::iter(patches).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        self.end(Phase::HandOver, began);
        Ok(())
    }

    /// Removes the annotation with which a provider of the source has paused an object for the move.
    async fn resume_one(&self, work: &Work, item: &Item, pause: String) -> Result<()> {
        let key = &item.object.key;
        if !self.journal.state().copied.contains_key(key) {
            return Ok(());
        }
        let path = format!("{}?fieldManager={}", path(work.kind(item.kind), key), names::FIELD_MANAGER);
        let patch = json!({"metadata": {"annotations": {pause: Value::Null}}});
        match self.target.patch(&format!("resume {key}"), &path, PatchKind::Merge, &patch).await {
            // As in `unpause_one`.
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn unpause_one(&self, work: &Work, before: &Before) -> Result<()> {
        let key = &before.object;
        let Some(kind) = work.kind_of(key) else { return Ok(()) };
        let state = self.journal.state();
        let copied = state.copied.contains_key(key);
        if !copied && !state.left.contains_key(key) {
            return Ok(());
        }
        let mut patch = pause_patch(key, &before.paused);
        if copied {
            let managers = with_owners_of_target(before.managed_fields.clone(), &work.identities);
            if !managers.is_null() {
                patch["metadata"]["managedFields"] = managers;
            }
        } else if before.paused == true {
            return Ok(());
        }
        let path = format!("{}?fieldManager={}", path(kind, key), names::FIELD_MANAGER);
        match self.target.patch(&format!("unpause {key}"), &path, PatchKind::Merge, &patch).await {
            // An object that was deleted at the target after its verification was deleted on purpose.
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the annotation that pauses an object at the target until the hand-over is complete.
fn paused_by(item: &Item) -> Option<String> {
    // Few objects have it, and a value is expensive.
    if !item.object.text.get().contains(names::PAUSED_BY) {
        return None;
    }
    item.object.value()["metadata"]["annotations"][names::PAUSED_BY].as_str().map(str::to_owned)
}
