//! The steps that all changes of objects share.

use kinds::Subresource;
use kinds::strategy::Generation;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::{GroupResource, Status};
use machinery::{apply, meta};
use serde_json::{Map, Value};

use super::allocation::settled;
use super::changed::{Changed, Failure, Ownership};
use super::charge::charge;
use super::ownership::{convert_missing, note};
use super::writes::Writes;
use super::{decode, identity, metadata, size, validate};
use crate::admission::review::Operation;
use crate::context::Context;
use crate::response::Written;
use crate::storage::entries::Entry;
use crate::target::Target;
use crate::versions::{convert, fields};

/// Maximum number of attempts if the object changes at the same time.
const ATTEMPTS: usize = 100;

impl Writes {
    /// Reads the object, calls `make` to change it, and stores the result. Starts again if another client has written
    /// the object in the meantime.
    pub(crate) async fn change(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        mut make: impl FnMut(&mut Context, &Value) -> Result<Changed, Status>,
    ) -> Result<Written, Status> {
        let warnings = context.warnings.len();
        for _ in 0..ATTEMPTS {
            context.warnings.truncate(warnings);
            let entry = self.storage().get(&target.key()).ok_or_else(|| target.not_found())?;
            convert::check_version(target.served, &entry)?;
            let live = self.versions().read(target.served, &entry).await?;
            let changed = make(context, &live);
            if convert_missing(self.versions(), context, target.served).await? {
                continue;
            }
            let changed = changed?;
            match self.try_change(context, target, &entry, &live, changed).await {
                Ok(written) => return Ok(written),
                Err(Failure::Refused(status)) => return Err(status),
                Err(Failure::Raced) => {}
            }
        }
        Err(target.modified())
    }

    async fn try_change(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        entry: &Entry,
        live: &Value,
        changed: Changed,
    ) -> Result<Written, Failure> {
        let served = target.served;
        let mut object = changed.object;
        check_uid(target, live, changed.expected_uid.as_deref())?;
        keep_system_fields(&mut object, live);
        if matches!(changed.ownership, Ownership::Note) {
            object = note(self, context, target, Some(live), object).await?;
        }
        self.admission().mutate(context, target, Operation::Update, Some(live), &mut object).await?;
        // A webhook may have changed anything. Validation refuses another name or UID.
        identity::identify(served.definition.namespaced, target.namespace, "", &mut object)?;
        keep_system_fields(&mut object, live);
        context.warnings.extend(metadata::dedup_owners_after_admission(&mut object));
        check_revision(target, &mut object, live)?;
        prepare(target, &mut object, live, &|| self.now());
        let reservation =
            self.allocator().allocate(self.storage(), target, &mut object, Some(live), context.dry_run)?;
        let mut holds = served.holds(&target.key(), entry.revision);
        let errors = validate::validate(target, &object, Some(live), holds);
        if !holds || !errors.is_empty() {
            let ratcheted = validate::ratcheted(target, &object, live, &errors);
            holds = target.subresource != Subresource::Status && ratcheted.is_empty();
            context.warnings.extend(ratcheted);
        }
        target.refuse(&object, &errors)?;
        if !served.definition.built_in {
            context.warnings.extend(metadata::warnings(&object, Some(live)));
        }
        context.warnings.extend(validate::warnings(target, &object, Some(live)));
        self.admission().validate(context, target, Operation::Update, Some(live), &object).await?;
        let _turn = charge(self, context, target, Some(live), &object).await?;
        decode::drop_applied_nulls(served, changed.ownership, &mut object);
        apply::keep_times(live, &mut object);
        let deletes = meta::is_deleting(&object) && !held(&object);
        let as_stored = convert::as_stored(served, entry.revision);
        if !deletes && object == *live && as_stored {
            return Ok(Written { object: entry.value.clone(), created: false });
        }
        let stored = self.versions().to_storage(served, object).await?;
        let document = fields::document(served, &stored);
        let current = document.at(entry.revision);
        let is_same = current == entry.value || (!as_stored && is_reordered(&current, &entry.value));
        if context.dry_run || (is_same && !deletes) {
            let object = if is_same {
                self.versions().show(served, &current, entry.revision).await?
            } else {
                self.versions().show_unstored(served, current).await?
            };
            return Ok(Written { object, created: false });
        }
        if deletes {
            let removed = self.storage().remove(&target.key(), entry).await;
            removed.map_err(Failure::from)?;
            served.prove(&target.key(), entry.revision, false);
            self.removed(served, target.name, meta::uid(live)).await;
            return Ok(Written {
                object: self.versions().show_unstored(served, current).await?,
                created: false,
            });
        }
        let ownership = changed.ownership;
        let (stored, document) = size::fit(context, target, ownership, stored, document, Some(&entry.value))?;
        let written = self.storage().put(&target.key(), Some(entry.revision), document);
        let entry = settled(reservation, written).await.map_err(Failure::from)?;
        served.prove(&target.key(), entry.revision, holds);
        self.wrote(served, &entry).await;
        Ok(Written { object: self.versions().show_written(served, stored, &entry).await?, created: false })
    }
}

/// Returns whether two texts have the same fields in another order: earlier versions of this server stored them by name.
fn is_reordered(current: &[u8], before: &[u8]) -> bool {
    let value = |text: &[u8]| machinery::decode::own::<Value>(text).ok();
    current.len() == before.len() && value(current) == value(before)
}

/// Returns whether a deleted object must be kept because of its finalizers, the finalizers in the spec of a Namespace,
/// or a grace period.
pub(crate) fn held(object: &Value) -> bool {
    let finalizers = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
    finalizers(&object["metadata"]["finalizers"])
        || (object["kind"] == "Namespace"
            && object["apiVersion"] == "v1"
            && finalizers(&object["spec"]["finalizers"]))
        || object["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0)
}

pub(crate) fn check_uid(target: &Target<'_>, live: &Value, expected: Option<&str>) -> Result<(), Status> {
    let found = meta::uid(live);
    match expected {
        Some(expected) if expected != found => {
            let key = crate::storage::keys::shown(&target.served.definition, target.namespace, target.name);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {expected}, UID in object meta: {found}"
            );
            Err(Status::conflict(target.served.resource(), target.name, &why))
        }
        _ => Ok(()),
    }
}

/// Checks that `resourceVersion` is that of the stored object. It may be missing if the kind allows unconditional
/// updates.
fn check_revision(target: &Target<'_>, object: &mut Value, live: &Value) -> Result<(), Status> {
    let given = meta::resource_version(object).to_owned();
    match given.as_str() {
        "" | "0" => {
            if !target.served.strategy().unconditional_update() {
                let GroupResource { group, resource } = target.served.resource();
                let detail = "must be specified for an update";
                let error =
                    FieldError::new(FieldErrorKind::Invalid, "metadata.resourceVersion", &0.into(), detail);
                return Err(Status::invalid(group, resource, target.name, &[error]));
            }
            if let Some(metadata) = meta::metadata_mut(object) {
                metadata.insert("resourceVersion".into(), live["metadata"]["resourceVersion"].clone());
            }
            Ok(())
        }
        text if text.parse::<u64>().is_err() => {
            Err(Status::new(500, "", format!("strconv.ParseUint: parsing \"{text}\": invalid syntax")))
        }
        text if text != meta::resource_version(live) => Err(target.modified()),
        _ => Ok(()),
    }
}

/// Restores the system fields that a client cannot change or may omit.
fn keep_system_fields(object: &mut Value, live: &Value) {
    let Some(metadata) = meta::metadata_mut(object) else { return };
    for key in ["creationTimestamp", "generation"] {
        match live["metadata"].get(key) {
            Some(value) => metadata.insert(key.into(), value.clone()),
            None => metadata.remove(key),
        };
    }
    for key in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if metadata.get(key).is_none_or(Value::is_null) {
            match live["metadata"].get(key) {
                Some(value) => metadata.insert(key.into(), value.clone()),
                None => metadata.remove(key),
            };
        }
    }
    metadata.remove("selfLink");
}

/// Prepares an update for its kind: restores the fields that the subresource does not write, and increments the
/// generation.
fn prepare(target: &Target<'_>, object: &mut Value, live: &Value, now: &dyn Fn() -> String) {
    let served = target.served;
    let strategy = served.strategy();
    let built_in = served.definition.built_in;
    match target.subresource {
        Subresource::Status if built_in => {
            keep(object, live, |key| matches!(key, "metadata" | "status"));
            strategy.prepare_part_update(Subresource::Status, object, live, &now());
        }
        Subresource::Status => {
            let managed = object["metadata"].get("managedFields").cloned();
            keep(object, live, |key| key == "status");
            if let Some(metadata) = meta::metadata_mut(object) {
                metadata.remove("managedFields");
                metadata.extend(managed.map(|managed| ("managedFields".to_owned(), managed)));
            }
        }
        Subresource::Finalize => keep(object, live, |key| matches!(key, "metadata" | "spec")),
        part if served.version.parts.contains(&part) => {
            strategy.prepare_part_update(part, object, live, &now());
        }
        _ if served.version.status => keep(object, live, |key| key != "status"),
        _ => {}
    }
    if matches!(target.subresource, Subresource::None | Subresource::Scale) {
        strategy.prepare_update(object, live);
    }
    let rises = match strategy.generation() {
        Generation::Untouched => false,
        _ if target.subresource == Subresource::Status => false,
        Generation::Spec => differ(object, live, &["metadata", "status"]),
        Generation::SpecAndAnnotations => {
            differ(object, live, &["metadata", "status"])
                || object["metadata"]["annotations"] != live["metadata"]["annotations"]
        }
        Generation::SpecAndLabels => {
            differ(object, live, &["metadata"]) || object["metadata"]["labels"] != live["metadata"]["labels"]
        }
        Generation::All => differ(object, live, &["metadata"]),
    };
    if rises && let Some(metadata) = meta::metadata_mut(object) {
        metadata.insert("generation".into(), (meta::generation(live) + 1).into());
    }
}

/// Restores every top-level field from `live`, except for the written ones.
fn keep(object: &mut Value, live: &Value, written: impl Fn(&str) -> bool) {
    let empty = Map::new();
    let live = live.as_object().unwrap_or(&empty);
    let Some(map) = object.as_object_mut() else { return };
    map.retain(|key, _| written(key) || live.contains_key(key));
    for (key, value) in live.iter().filter(|(key, _)| !written(key)) {
        map.insert(key.clone(), value.clone());
    }
}

fn differ(object: &Value, live: &Value, but: &[&str]) -> bool {
    let empty = Map::new();
    let (object, live) = (object.as_object().unwrap_or(&empty), live.as_object().unwrap_or(&empty));
    let counts = |key: &String| !but.contains(&key.as_str());
    object.iter().filter(|(key, _)| counts(key)).ne(live.iter().filter(|(key, _)| counts(key)))
}
