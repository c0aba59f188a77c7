//! Pausing the source.

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::{Pivot, Work, path};
use crate::error::Result;
use crate::inventory::Item;
use crate::journal::{Before, Record};
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::progress::Phase;
use crate::server::PatchKind;

/// The merge patch that sets the pause of a Cluster or ClusterClass to `value`; null takes it away.
pub(super) fn pause_patch(key: &Key, value: &Value) -> Value {
    if key.is_cluster() {
        json!({"spec": {"paused": value}})
    } else {
        json!({"metadata": {"annotations": {names::PAUSED: value}}})
    }
}

/// The pause as it is; null for none.
fn pause_of(key: &Key, object: &Value) -> Value {
    if key.is_cluster() {
        object["spec"]["paused"].clone()
    } else {
        object["metadata"]["annotations"][names::PAUSED].clone()
    }
}

/// The merge patch that pauses it, and tells a Cluster's providers why; `None` where nothing is left to do.
fn pausing(key: &Key, object: &Value) -> Option<Value> {
    let pause = pause_of(key, object);
    if !key.is_cluster() {
        return (!pause.is_string()).then(|| pause_patch(key, &"".into()));
    }
    let told = object["metadata"]["annotations"][names::MOVING].is_string();
    (pause != true || !told)
        .then(|| json!({"metadata": {"annotations": {names::MOVING: ""}}, "spec": {"paused": true}}))
}

impl Pivot {
    /// Pauses every Cluster and ClusterClass that moves, and remembers whether the user had paused it.
    pub(super) async fn pause_source(&mut self, work: &Work) -> Result<()> {
        let roots: Vec<(&Item, Value)> =
            work.inventory.roots().map(|item| (item, item.object.value())).collect();
        let state = self.journal.state();
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
        let began = self.begin(Phase::Pause);
        if !new.is_empty() {
            self.journal.append(Record::Pausing(new))?;
        }
        let source = &self.source;
        let patches: Vec<_> = roots
            .iter()
            .filter_map(|(item, value)| Some((*item, pausing(&item.object.key, value)?)))
            .map(|(item, patch)| async move {
                let key = &item.object.key;
                let path =
                    format!("{}?fieldManager={}", path(work.kind(item.kind), key), names::FIELD_MANAGER);
                source.patch(&format!("pause {key}"), &path, PatchKind::Merge, &patch).await.map(drop)
            })
            .collect();
        let count = patches.len();
        stream::iter(patches).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        self.progress.at(Phase::Pause, count, count);
        self.journal.append(Record::Paused)?;
        self.end(Phase::Pause, began);
        Ok(())
    }
}
