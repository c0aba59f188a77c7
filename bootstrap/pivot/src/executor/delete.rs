//! Deletes the verified objects at the source.

use std::collections::{BTreeMap, HashSet};

use machinery::url::encode;
use serde_json::{Value, json};

use super::phases::Phases;
use super::snapshot::Snapshot;
use super::write::{patch_path, uid_of};
use crate::error::{Error, Result};
use crate::inventory::Item;
use crate::journal::{Journal, Record, State, Verified};
use crate::kinds::Kind;
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::Key;
use crate::plan::Step;
use crate::progress::Phase;
use crate::server::{PatchKind, Server, at_once};

/// The custom resources of a kind and namespace that are marked for deletion: the mark tells webhooks the reason, and finalizers are
/// removed with it. One request deletes many of them.
struct Place<'a> {
    kind: &'a Kind,
    /// The key of one of the objects.
    key: Key,
    marked: usize,
    /// Whether controllers may set finalizers on the objects.
    held: bool,
}

impl<'a> Place<'a> {
    /// Counts an object that is about to be marked in its place, and returns the number of objects that were counted there before.
    fn of(places: &mut Vec<Self>, snapshot: &Snapshot, kind: &'a Kind, key: &Key) -> usize {
        let held = snapshot.item(key).is_none_or(|item| may_be_held(&item.object.text.get()));
        let same = |place: &&mut Self| place.kind == kind && place.key.namespace == key.namespace;
        match places.iter_mut().find(same) {
            Some(place) => {
                place.marked += 1;
                place.held |= held;
                place.marked - 1
            }
            None => {
                places.push(Self { kind, key: key.clone(), marked: 1, held });
                0
            }
        }
    }
}

/// Deletes all objects that the source does not keep, dependents before their owners. An object that has changed since it was
/// copied is kept together with its owners, because otherwise the garbage collector would delete it.
///
/// All custom resources are marked before the first one is deleted, because otherwise the garbage collector changes the remaining
/// ones by deleting their owners. `moved` has the resource versions of the objects that are marked as moved.
pub(super) async fn delete(
    source: &Server,
    journal: &mut Journal,
    phases: &Phases,
    snapshot: &Snapshot,
    moved: &BTreeMap<Key, String>,
) -> Result<()> {
    let plan = journal.state().plan.clone().unwrap_or_default();
    let id = journal.state().header.as_ref().map(|header| header.id.clone()).unwrap_or_default();
    let total = plan.len();
    let mut through = 0;
    let (mut places, mut changed, mut owners) = (Vec::new(), Vec::new(), HashSet::new());
    for group in plan.groups.iter().rev() {
        let goes = |step: &&Step| step.kept.is_none() && journal.state().verified.contains_key(&step.object);
        let (kept, going): (Vec<&Step>, Vec<&Step>) =
            group.iter().filter(goes).partition(|step| owners.contains(&step.uid));
        through += going.len();
        let kept = kept.into_iter().map(|step| step.object.clone());
        let mut kept: Vec<Key> = kept.collect();
        if !going.is_empty() {
            let keys = going.iter().map(|step| step.object.clone());
            journal.append(Record::Deleting(keys.collect()))?;
            let deletion = Deletion { source, state: journal.state(), moved };
            kept.extend(mark_group(&deletion, snapshot, &going, &id, &mut places).await?);
        }
        owners.extend(kept.iter().filter_map(|key| snapshot.item(key)).flat_map(owners_of));
        changed.extend(kept);
        phases.at(Phase::Delete, through, total);
    }
    // Clusters and ClusterClasses own everything else, so they are deleted last.
    places.sort_by_key(|place| place.key.is_cluster() || place.key.is_class());
    for place in &places {
        for number in 0..place.marked.div_ceil(limits::DELETE_BATCH) {
            delete_marked(source, place, &format!("{id}-{number}")).await?;
        }
    }
    journal.append(Record::Deleted { changed })?;
    Ok(())
}

/// Marks the custom resources of a group, and deletes its Secrets and ConfigMaps at once: no webhooks check these, and few have
/// finalizers. Returns the objects that have changed since they were verified.
async fn mark_group<'a>(
    deletion: &Deletion<'_>,
    snapshot: &'a Snapshot,
    steps: &[&Step],
    id: &str,
    places: &mut Vec<Place<'a>>,
) -> Result<Vec<Key>> {
    let (mut marks, mut deletions) = (Vec::new(), Vec::new());
    for key in steps.iter().map(|step| &step.object) {
        let Some(kind) = snapshot.kind_of(key) else { continue };
        if kind.group.is_empty() {
            deletions.push(deletion.delete(kind, key, None));
        } else {
            let number = Place::of(places, snapshot, kind, key) / limits::DELETE_BATCH;
            marks.push(deletion.delete(kind, key, Some(format!("{id}-{number}"))));
        }
    }
    let mut changed = at_once(marks).await?;
    changed.extend(at_once(deletions).await?);
    Ok(changed.into_iter().flatten().collect())
}

/// Deletes all objects of a kind and namespace with the label. Controllers may set their finalizers again on objects whose deletion
/// they have not seen yet, paused or not; once a deletion has begun, no finalizer can be added.
async fn delete_marked(source: &Server, place: &Place<'_>, label: &str) -> Result<()> {
    let Place { kind, key, .. } = place;
    let selector = encode(format!("{}={label}", names::BATCH));
    let marked = format!("{}?labelSelector={selector}", kind.path(&key.namespace));
    let (what, options) = (format!("delete {}", kind.resource()), json!({"propagationPolicy": "Background"}));
    source.delete(&what, &marked, &options).await?;
    if !place.held {
        return Ok(());
    }
    for _ in 0..limits::RETRIES {
        let left = source.list_metadata(&format!("list {}", kind.resource()), &marked).await?;
        if left.is_empty() {
            return Ok(());
        }
        at_once(left.iter().map(|object| release(source, kind, key, object))).await?;
    }
    Err(Error::Blocked(format!(
        "{} of namespace {:?} that have moved stay at the source: somebody puts finalizers on them all the time; stop that, then --resume",
        kind.resource(),
        key.namespace
    )))
}

/// Removes the finalizers of an object of the same kind and namespace as `key`.
async fn release(source: &Server, kind: &Kind, key: &Key, object: &Value) -> Result<()> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let key = Key { name, ..key.clone() };
    let patch = json!({"metadata": {"uid": uid_of(object), "finalizers": null}});
    source.merge_if_there(&format!("release {key}"), &patch_path(kind, &key), &patch).await
}

/// Deletes single objects that have been copied.
struct Deletion<'a> {
    source: &'a Server,
    state: &'a State,
    /// The resource versions of the objects that are marked as moved.
    moved: &'a BTreeMap<Key, String>,
}

impl Deletion<'_> {
    /// Deletes an object if it is still in the verified state, or marks it with `label`. Returns the key of an object that has changed.
    async fn delete(&self, kind: &Kind, key: &Key, label: Option<String>) -> Result<Option<Key>> {
        let Some(verified) = self.state.verified.get(key) else { return Ok(Some(key.clone())) };
        let mut version = self.moved.get(key).unwrap_or(&verified.resource_version).clone();
        for _ in 0..limits::RETRIES {
            let refused = match &label {
                Some(label) => self.mark_for_deletion(kind, key, label, &version).await,
                None => {
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
                Found::Gone => return Ok(None),
                Found::Changed => return Ok(Some(key.clone())),
                Found::Unchanged(now) => version = now,
            }
        }
        Ok(Some(key.clone()))
    }

    /// Deletes an object without a mark, and removes its finalizers: providers set finalizers on Secrets that they use, too.
    async fn delete_plain(&self, kind: &Kind, key: &Key, options: &Value) -> Result<()> {
        let answer = self.source.delete(&format!("delete {key}"), &key.path(kind), options).await?;
        match answer.filter(is_held) {
            Some(waiting) => release(self.source, kind, key, &waiting).await,
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
        let path = patch_path(kind, key);
        self.source.patch(&format!("release {key}"), &path, PatchKind::Merge, &patch).await.map(drop)
    }

    /// Compares an object with its verified state. A write since then does not matter if the object is still equivalent: controllers may
    /// have recorded the pause, or a killed run may have marked it.
    async fn unchanged(&self, kind: &Kind, key: &Key, verified: &Verified) -> Result<Found> {
        let Some(now) = self.source.find(&format!("get {key}"), &key.path(kind)).await? else {
            return Ok(Found::Gone);
        };
        let plan = self.state.plan.as_ref();
        let step = plan.and_then(|plan| plan.steps().find(|step| step.object == *key));
        if step.is_none_or(|step| step.uid != uid_of(&now)) {
            return Ok(Found::Changed);
        }
        let version = now["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        if is_marked(&now) || fingerprint(now) == verified.fingerprint {
            return Ok(Found::Unchanged(version));
        }
        Ok(Found::Changed)
    }
}

/// Returns whether an object has finalizers, or may have had some before a killed run marked it.
fn may_be_held(text: &str) -> bool {
    ["\"finalizers\"", names::BATCH].iter().any(|sign| text.contains(sign))
}

fn owners_of(item: &Item) -> Vec<String> {
    let object = item.object.value();
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.filter_map(|owner| owner["uid"].as_str().map(ToOwned::to_owned)).collect()
}

/// Returns whether finalizers block the deletion of an object.
fn is_held(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    object["metadata"]["deletionTimestamp"].is_string() && finalizers.is_some_and(|all| !all.is_empty())
}

enum Found {
    Gone,
    Changed,
    Unchanged(String),
}

/// Returns whether a killed run has already marked the object and removed its finalizers, so that its fingerprint differs from the
/// verified one.
fn is_marked(object: &Value) -> bool {
    object["metadata"]["annotations"].get(names::DELETE_FOR_MOVE).is_some()
}
