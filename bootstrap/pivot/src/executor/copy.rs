//! Copies in rounds, until both sides are equal and the source does not change any more.

use std::collections::HashMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use super::write::uid_of;
use super::{Pivot, Work, path};
use crate::desired::desired;
use crate::error::{Error, Result};
use crate::inventory::Item;
use crate::journal::Record;
use crate::limits;
use crate::names;
use crate::object::Key;
use crate::plan::Step;
use crate::progress::Phase;
use crate::server::PatchKind;

/// The fingerprints of the objects that this run has copied.
type Done = HashMap<Key, u64>;

/// The result of a copy.
struct Copied {
    key: Key,
    uid: String,
    /// The object existed at the target before, and is left unchanged.
    left: bool,
    waits_for_owners: bool,
}

impl Pivot {
    /// Copies until all copies have been read back as equal, and the source has not changed meanwhile.
    pub(super) async fn copy_until_equal(&mut self, work: &mut Work) -> Result<()> {
        let mut done = Done::new();
        let mut last = None;
        for _ in 0..=limits::ROUNDS {
            self.note_plan(work)?;
            self.ensure_namespaces(work).await?;
            self.pause_source(work).await?;
            self.wait_until_released(work).await?;
            // Providers may have created objects for the move.
            self.note_plan(work)?;
            self.copy(work, &mut done).await?;
            self.remove_vanished(work).await?;
            let before = std::mem::take(&mut work.inventory).into_summary();
            work.inventory = work.discovery.inventory(&self.source, &work.scope).await?;
            if work.inventory.is_same(&before) {
                let different = self.verify(work).await?;
                if different.is_empty() {
                    return Ok(());
                }
                for (key, _) in &different {
                    done.remove(key);
                }
                last = different.into_iter().next();
            }
            self.source.clock().sleep(limits::ROUND_PAUSE).await;
        }
        Err(match last {
            Some((key, difference)) => Error::Different {
                object: key.to_string(),
                difference,
                advice: "Find out who changes it (`kubectl get -o yaml --show-managed-fields`), then --resume or --roll-back",
            },
            None => Error::Blocked(
                "objects of the source change all the time although their Clusters are paused; stop whoever writes them, then --resume"
                    .into(),
            ),
        })
    }

    /// Adds the plan to the journal if it has changed.
    fn note_plan(&mut self, work: &Work) -> Result<()> {
        if self.journal.state().plan.as_ref() != Some(&work.inventory.plan) {
            self.journal.append(Record::Planned(work.inventory.plan.clone()))?;
        }
        Ok(())
    }

    /// Copies the objects that are not up to date at the target, owners first.
    pub(super) async fn copy(&mut self, work: &mut Work, done: &mut Done) -> Result<()> {
        let began = self.begin(Phase::Copy);
        self.learn_identities(work);
        let groups = work.inventory.plan.groups.clone();
        let total = work.inventory.plan.len();
        let mut through = 0;
        let mut late = Vec::new();
        for group in &groups {
            for batch in group.chunks(limits::BATCH) {
                let todo: Vec<&Step> = batch.iter().filter(|step| !is_done(work, done, step)).collect();
                let copied = self.copy_batch(work, &todo).await?;
                for copied in copied {
                    let item = &work.inventory.items[&copied.key];
                    work.identities.at_target.insert(item.object.uid.clone(), copied.uid);
                    done.insert(copied.key.clone(), item.fingerprint);
                    if copied.waits_for_owners && !copied.left {
                        late.push(copied.key);
                    }
                }
                through += batch.len();
                self.progress.at(Phase::Copy, through, total);
            }
        }
        self.add_late_owners(work, &late).await?;
        self.end(Phase::Copy, began);
        Ok(())
    }

    pub(super) fn learn_identities(&self, work: &mut Work) {
        let state = self.journal.state();
        for step in work.inventory.plan.steps() {
            work.identities.moving.insert(step.uid.clone());
            let there = state.copied.get(&step.object).or_else(|| state.left.get(&step.object));
            if let Some(there) = there {
                work.identities.at_target.insert(step.uid.clone(), there.clone());
            }
        }
    }

    async fn copy_batch(&mut self, work: &Work, todo: &[&Step]) -> Result<Vec<Copied>> {
        let state = self.journal.state();
        let new: Vec<Key> = todo
            .iter()
            .map(|step| &step.object)
            .filter(|key| !state.copying.contains(key) && !state.left.contains_key(key))
            .cloned()
            .collect();
        if !new.is_empty() {
            self.journal.append(Record::Copying(new))?;
        }
        let this = &*self;
        let copies: Vec<_> = todo.iter().map(|step| this.copy_one(work, step)).collect();
        let copied: Vec<Copied> =
            stream::iter(copies).buffer_unordered(limits::IN_FLIGHT).try_collect().await?;
        let noted = &this.journal.state().copied;
        let pairs = |left: bool| -> Vec<(Key, String)> {
            let new = |one: &&Copied| noted.get(&one.key) != Some(&one.uid);
            let chosen = copied.iter().filter(|one| one.left == left).filter(new);
            chosen.map(|one| (one.key.clone(), one.uid.clone())).collect()
        };
        let (made, left) = (pairs(false), pairs(true));
        if !made.is_empty() {
            self.journal.append(Record::Copied(made))?;
        }
        if !left.is_empty() {
            self.journal.append(Record::Left(left))?;
        }
        Ok(copied)
    }

    async fn copy_one(&self, work: &Work, step: &Step) -> Result<Copied> {
        let key = &step.object;
        let item = &work.inventory.items[key];
        let kind = work.kind(item.kind);
        let state = self.journal.state();
        let wanted = desired(item, state.before.get(key), &work.identities);
        let waits_for_owners = wanted.waits_for_owners;
        let ready =
            |uid: &str, left| Copied { key: key.clone(), uid: uid.to_owned(), left, waits_for_owners };
        if let Some(uid) = state.left.get(key) {
            return Ok(ready(uid, true));
        }
        let mut object = match state.copied.get(key) {
            Some(uid) => self.update(kind, key, &wanted, uid).await?,
            None => match self.create(kind, key, &wanted).await? {
                Some(created) => created,
                None if step.shared => {
                    let there: Value = self.target.get(&format!("get {key}"), &path(kind, key)).await?;
                    return Ok(ready(uid_of(&there), true));
                }
                None => self.take_over(kind, key, &wanted).await?,
            },
        };
        if let Some(written) = self.write_status(kind, key, &wanted, &object).await? {
            object = written;
        }
        // Paused objects get their field managers with the request that ends the pause.
        if !state.before.contains_key(key) {
            self.restore_managers(kind, key, &wanted, &object).await?;
        }
        Ok(ready(uid_of(&object), false))
    }

    /// Sets the owner references to objects that were created later, because objects own each other.
    async fn add_late_owners(&self, work: &Work, late: &[Key]) -> Result<()> {
        let patches: Vec<_> = late
            .iter()
            .map(|key| async move {
                let item = &work.inventory.items[key];
                let wanted = desired(item, self.journal.state().before.get(key), &work.identities);
                let metadata = json!({
                    "ownerReferences": wanted.object["metadata"]["ownerReferences"],
                    "managedFields": wanted.managed_fields,
                });
                let path =
                    format!("{}?fieldManager={}", path(work.kind(item.kind), key), names::FIELD_MANAGER);
                let patch = json!({"metadata": metadata});
                let what = format!("set the owners of {key}");
                self.target.patch(&what, &path, PatchKind::Merge, &patch).await.map(drop)
            })
            .collect();
        stream::iter(patches).buffer_unordered(limits::IN_FLIGHT).try_collect().await
    }

    /// Removes the copies of objects that the source has lost since they were copied.
    async fn remove_vanished(&self, work: &Work) -> Result<()> {
        let state = self.journal.state();
        let items: &HashMap<Key, Item> = &work.inventory.items;
        let vanished = state.copied.keys().filter(|key| !items.contains_key(*key));
        for key in vanished {
            self.remove_copy(work, key).await?;
        }
        Ok(())
    }
}

fn is_done(work: &Work, done: &Done, step: &Step) -> bool {
    let item = work.inventory.items.get(&step.object);
    item.is_none_or(|item| done.get(&step.object) == Some(&item.fingerprint))
}
