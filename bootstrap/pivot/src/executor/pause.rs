//! Pausing the source, and waiting for what providers hold back.

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::{Pivot, Work, path};
use crate::error::{Error, Result};
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

/// What pauses it.
fn paused(key: &Key) -> Value {
    if key.is_cluster() { true.into() } else { "".into() }
}

/// Whether a pause of this value pauses.
fn is_paused(key: &Key, value: &Value) -> bool {
    if key.is_cluster() { value == true } else { value.is_string() }
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
            .filter(|(item, value)| !is_paused(&item.object.key, &pause_of(&item.object.key, value)))
            .map(|(item, _)| async move {
                let key = &item.object.key;
                let path =
                    format!("{}?fieldManager={}", path(work.kind(item.kind), key), names::FIELD_MANAGER);
                let patch = pause_patch(key, &paused(key));
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

    /// Waits until no object that moves is held back by its provider; reads the source again where it had to wait.
    pub(super) async fn wait_until_released(&mut self, work: &mut Work) -> Result<()> {
        let began = self.begin(Phase::Pause);
        let deadline = began + limits::BLOCK_MOVE_WAIT;
        loop {
            let blocked: Vec<String> = work
                .inventory
                .items
                .values()
                .filter(|item| item.blocked)
                .map(|item| item.object.key.to_string())
                .collect();
            if blocked.is_empty() {
                self.end(Phase::Pause, began);
                return Ok(());
            }
            if self.source.clock().monotonic() >= deadline {
                return Err(Error::Blocked(format!(
                    "providers still hold back {} (annotation {}); look at the logs of these providers, then --resume or --roll-back",
                    blocked.join(", "),
                    names::BLOCK_MOVE
                )));
            }
            self.source.clock().sleep(limits::BLOCK_MOVE_PAUSE).await;
            work.inventory = work.discovery.inventory(&self.source, &work.scope).await?;
        }
    }
}
