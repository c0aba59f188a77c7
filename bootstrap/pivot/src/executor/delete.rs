//! Deleting at the source what was verified at the target.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::copy::uid_of;
use super::{Pivot, Work, path};
use crate::error::{Error, Result};
use crate::journal::{Record, Verified};
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::Key;
use crate::plan::Step;
use crate::progress::Phase;
use crate::server::{PatchKind, encode};

/// Objects of one kind and namespace.
struct Batch<'a> {
    kind: &'a Kind,
    way: Way,
    keys: &'a [&'a Key],
    /// What marks them.
    label: String,
}

/// One object in one request, or many.
#[derive(PartialEq)]
enum Way {
    /// Custom resources are marked, so that webhooks know why they go and finalizers do not hold them; one request deletes all marked
    /// ones of a kind and namespace.
    Marked,
    /// Nothing asks about Secrets and ConfigMaps, and few have finalizers.
    Plain,
}

impl Pivot {
    /// Deletes all that the source does not keep, what is owned before its owners. An object that changed after it was copied is kept.
    pub(super) async fn delete_source(&mut self, work: &Work) -> Result<()> {
        let began = self.begin(Phase::Delete);
        let plan = self.journal.state().plan.clone().unwrap_or_default();
        let id = self.journal.state().header.as_ref().map(|header| header.id.clone()).unwrap_or_default();
        let total = plan.len();
        let mut through = 0;
        for (number, group) in plan.groups.iter().rev().enumerate() {
            let goes = |step: &&Step| {
                step.kept.is_none() && self.journal.state().verified.contains_key(&step.object)
            };
            let keys: Vec<Key> = group.iter().filter(goes).map(|step| step.object.clone()).collect();
            through += keys.len();
            self.delete_group(work, keys, &format!("{id}-{number}")).await?;
            self.progress.at(Phase::Delete, through, total);
        }
        self.end(Phase::Delete, began);
        Ok(())
    }

    /// Deletes objects of one group. All are released before the first one goes: where they own each other, the garbage collector changes
    /// those that are left.
    async fn delete_group(&mut self, work: &Work, keys: Vec<Key>, label: &str) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut places: BTreeMap<(&str, &str, &str), Vec<&Key>> = BTreeMap::new();
        for key in &keys {
            let place = (key.group.as_str(), key.kind.as_str(), key.namespace.as_str());
            places.entry(place).or_default().push(key);
        }
        let batches: Vec<Batch<'_>> = places
            .values()
            .flat_map(|keys| keys.chunks(limits::DELETE_BATCH))
            .enumerate()
            .filter_map(|(number, keys)| {
                let kind = work.kind_of(keys.first()?)?;
                let way = if kind.group.is_empty() { Way::Plain } else { Way::Marked };
                Some(Batch { kind, way, keys, label: format!("{label}-{number}") })
            })
            .collect();
        self.journal.append(Record::Deleting(keys.clone()))?;
        let this = &*self;
        let mut changed = Vec::new();
        for way in [Way::Marked, Way::Plain] {
            let batches = batches.iter().filter(|batch| batch.way == way);
            let deletions: Vec<_> = batches
                .flat_map(|batch| {
                    batch.keys.iter().map(|key| this.delete_one(batch.kind, key, &batch.way, &batch.label))
                })
                .collect();
            let kept: Vec<Option<Key>> =
                stream::iter(deletions).buffer_unordered(limits::IN_FLIGHT).try_collect().await?;
            changed.extend(kept.into_iter().flatten());
        }
        let marked = batches.iter().filter(|batch| batch.way == Way::Marked);
        let deletions: Vec<_> = marked
            .filter_map(|batch| Some(this.delete_marked(batch.kind, batch.keys.first()?, &batch.label)))
            .collect();
        stream::iter(deletions).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        self.journal.append(Record::Deleted { changed })
    }

    /// Deletes all objects of a kind and namespace (those of `key`) that carry the label. Controllers put their finalizers back on what
    /// they have not yet seen deleted, paused or not; once deletion has begun nobody can.
    async fn delete_marked(&self, kind: &Kind, key: &Key, label: &str) -> Result<()> {
        let selector = encode(&format!("{}={label}", names::BATCH));
        let marked = format!("{}?labelSelector={selector}", kind.path(&key.namespace));
        let (what, options) =
            (format!("delete {}", kind.resource()), json!({"propagationPolicy": "Background"}));
        self.source.delete(&what, &marked, &options).await?;
        for _ in 0..limits::RETRIES {
            let left = self.source.list_metadata(&format!("list {}", kind.resource()), &marked).await?;
            if left.is_empty() {
                return Ok(());
            }
            let releases: Vec<_> = left.iter().map(|object| self.release(kind, key, object)).collect();
            stream::iter(releases).buffer_unordered(limits::IN_FLIGHT).try_collect::<()>().await?;
        }
        Err(Error::Blocked(format!(
            "{} of namespace {:?} that have moved stay at the source: somebody puts finalizers on them all the time; stop that, then --resume",
            kind.resource(),
            key.namespace
        )))
    }

    async fn release(&self, kind: &Kind, key: &Key, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = Key { name, ..key.clone() };
        let patch = json!({"metadata": {"uid": uid_of(object), "finalizers": null}});
        let path = format!("{}?fieldManager={}", path(kind, &key), names::FIELD_MANAGER);
        match self.source.patch(&format!("release {key}"), &path, PatchKind::Merge, &patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes or marks an object in the state that was verified. Answers the key of one that is another by now.
    async fn delete_one(&self, kind: &Kind, key: &Key, way: &Way, label: &str) -> Result<Option<Key>> {
        let Some(verified) = self.journal.state().verified.get(key) else { return Ok(Some(key.clone())) };
        let mut version = verified.resource_version.clone();
        for _ in 0..limits::RETRIES {
            let refused = match way {
                Way::Marked => self.mark_for_deletion(kind, key, label, &version).await,
                Way::Plain => {
                    let options = json!({
                        "propagationPolicy": "Background",
                        "preconditions": {"resourceVersion": version},
                    });
                    self.delete_plain(kind, key, &options).await
                }
            };
            match refused {
                Err(error) if error.is_conflict() => {}
                Err(error) if error.is_not_found() => return Ok(None),
                outcome => return outcome.map(|()| None),
            }
            match self.unchanged(kind, key, verified).await? {
                State::Gone => return Ok(None),
                State::Changed => return Ok(Some(key.clone())),
                State::Unchanged(now) => version = now,
            }
        }
        Ok(Some(key.clone()))
    }

    /// Providers put finalizers on Secrets that they use, too.
    async fn delete_plain(&self, kind: &Kind, key: &Key, options: &Value) -> Result<()> {
        let answer = self.source.delete(&format!("delete {key}"), &path(kind, key), options).await?;
        match answer.filter(is_held) {
            Some(waiting) => self.release(kind, key, &waiting).await,
            None => Ok(()),
        }
    }

    async fn mark_for_deletion(&self, kind: &Kind, key: &Key, label: &str, version: &str) -> Result<()> {
        let patch = json!({"metadata": {
            "resourceVersion": version,
            "finalizers": null,
            "labels": {names::BATCH: label},
            "annotations": {names::DELETE_FOR_MOVE: ""},
        }});
        let path = format!("{}?fieldManager={}", path(kind, key), names::FIELD_MANAGER);
        self.source.patch(&format!("release {key}"), &path, PatchKind::Merge, &patch).await.map(drop)
    }

    /// Whether an object is still what was verified, although it was written since: controllers note that it is paused, a run that was
    /// killed has marked it.
    async fn unchanged(&self, kind: &Kind, key: &Key, verified: &Verified) -> Result<State> {
        let Some(now) = self.source.find(&format!("get {key}"), &path(kind, key)).await? else {
            return Ok(State::Gone);
        };
        let plan = self.journal.state().plan.as_ref();
        let step = plan.and_then(|plan| plan.steps().find(|step| step.object == *key));
        if step.is_none_or(|step| step.uid != uid_of(&now)) {
            return Ok(State::Changed);
        }
        let version = now["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        if is_marked(&now) || fingerprint(now) == verified.fingerprint {
            return Ok(State::Unchanged(version));
        }
        Ok(State::Changed)
    }
}

/// Whether finalizers hold an object that is being deleted.
fn is_held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    object["metadata"]["deletionTimestamp"].is_string() && finalizers.is_some_and(|all| !all.is_empty())
}

enum State {
    Gone,
    Changed,
    Unchanged(String),
}

/// Whether a run that was killed has released it already: its finalizers are gone, so that it is no longer what was verified.
fn is_marked(object: &Value) -> bool {
    object["metadata"]["annotations"].get(names::DELETE_FOR_MOVE).is_some()
}
