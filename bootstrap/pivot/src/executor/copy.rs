//! Copies objects to the target, owners first.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::phases::Phases;
use super::snapshot::Snapshot;
use super::write::{Writer, patch_path, uid_of};
use crate::desired::{Desired, Identities, desired};
use crate::error::Result;
use crate::inventory::Item;
use crate::journal::{Journal, Record, State};
use crate::limits;
use crate::object::Key;
use crate::plan::Step;
use crate::progress::Phase;
use crate::server::{PatchKind, Server, at_once};

/// The fingerprints of the objects that are up to date at the target.
pub(super) type Done = HashMap<Key, u64>;

/// The result of a copy.
struct Copied {
    key: Key,
    uid: String,
    /// The object existed at the target before, and is left unchanged.
    left: bool,
    waits_for_owners: bool,
}

/// Copies the objects that are not up to date at the target, owners first.
pub(super) async fn copy(
    target: &Server,
    journal: &mut Journal,
    phases: &Phases,
    snapshot: &Snapshot,
    identities: &mut Identities,
    done: &mut Done,
) -> Result<()> {
    let plan = &snapshot.inventory().plan;
    identities.learn(plan, journal.state());
    let mut through = 0;
    let mut late = Vec::new();
    for batch in plan.groups.iter().flat_map(|group| group.chunks(limits::BATCH)) {
        let todo: Vec<&Step> = batch.iter().filter(|step| !is_done(snapshot, done, step)).collect();
        for copied in copy_batch(target, journal, snapshot, identities, &todo).await? {
            let item = &snapshot.inventory().items[&copied.key];
            identities.at_target.insert(item.object.uid.clone(), copied.uid);
            done.insert(copied.key.clone(), item.fingerprint);
            if copied.waits_for_owners && !copied.left {
                late.push(copied.key);
            }
        }
        through += batch.len();
        phases.at(Phase::Copy, through, plan.len());
    }
    let copier = Copier { target, state: journal.state(), snapshot, identities };
    at_once(late.iter().map(|key| copier.add_late_owners(key))).await?;
    Ok(())
}

async fn copy_batch(
    target: &Server,
    journal: &mut Journal,
    snapshot: &Snapshot,
    identities: &Identities,
    todo: &[&Step],
) -> Result<Vec<Copied>> {
    let state = journal.state();
    let new: Vec<Key> = todo
        .iter()
        .map(|step| &step.object)
        .filter(|key| !state.copying.contains(key) && !state.left.contains_key(key))
        .cloned()
        .collect();
    if !new.is_empty() {
        journal.append(Record::Copying(new))?;
    }
    let state = journal.state();
    let copier = Copier { target, state, snapshot, identities };
    let copied = at_once(todo.iter().map(|step| copier.copy(step))).await?;
    let pairs = |left: bool| -> Vec<(Key, String)> {
        let new = |one: &&Copied| state.copied.get(&one.key) != Some(&one.uid);
        let chosen = copied.iter().filter(|one| one.left == left).filter(new);
        chosen.map(|one| (one.key.clone(), one.uid.clone())).collect()
    };
    let (made, left) = (pairs(false), pairs(true));
    if !made.is_empty() {
        journal.append(Record::Copied(made))?;
    }
    if !left.is_empty() {
        journal.append(Record::Left(left))?;
    }
    Ok(copied)
}

/// Copies single objects.
struct Copier<'a> {
    target: &'a Server,
    state: &'a State,
    snapshot: &'a Snapshot,
    identities: &'a Identities,
}

impl Copier<'_> {
    async fn copy(&self, step: &Step) -> Result<Copied> {
        let key = &step.object;
        let item = &self.snapshot.inventory().items[key];
        let kind = self.snapshot.kind(item.kind);
        let wanted = self.wanted(item);
        let writer = Writer { target: self.target, kind, key, wanted: &wanted };
        let waits_for_owners = wanted.waits_for_owners;
        let ready =
            |uid: &str, left| Copied { key: key.clone(), uid: uid.to_owned(), left, waits_for_owners };
        if let Some(uid) = self.state.left.get(key) {
            return Ok(ready(uid, true));
        }
        let mut object = match self.state.copied.get(key) {
            Some(uid) => writer.update(uid).await?,
            None => match writer.create().await? {
                Some(created) => created,
                None if step.shared => {
                    let there: Value = self.target.get(&format!("get {key}"), &key.path(kind)).await?;
                    return Ok(ready(uid_of(&there), true));
                }
                None => writer.take_over().await?,
            },
        };
        if let Some(written) = writer.write_status(&object).await? {
            object = written;
        }
        // Paused objects get their field managers with the request that ends the pause.
        if !self.state.before.contains_key(key) {
            writer.restore_managers(&object).await?;
        }
        Ok(ready(uid_of(&object), false))
    }

    /// Sets the owner references to objects that were created later, because objects own each other.
    async fn add_late_owners(&self, key: &Key) -> Result<()> {
        let item = &self.snapshot.inventory().items[key];
        let wanted = self.wanted(item);
        let patch = json!({"metadata": {
            "ownerReferences": wanted.object["metadata"]["ownerReferences"],
            "managedFields": wanted.managed_fields,
        }});
        let path = patch_path(self.snapshot.kind(item.kind), key);
        let what = format!("set the owners of {key}");
        self.target.patch(&what, &path, PatchKind::Merge, &patch).await.map(drop)
    }

    fn wanted(&self, item: &Item) -> Desired {
        desired(item, self.state.before.get(&item.object.key), self.identities)
    }
}

fn is_done(snapshot: &Snapshot, done: &Done, step: &Step) -> bool {
    let item = snapshot.item(&step.object);
    item.is_none_or(|item| done.get(&step.object) == Some(&item.fingerprint))
}
