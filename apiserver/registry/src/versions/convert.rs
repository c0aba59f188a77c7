//! Conversion between the storage version and the requested version.
//!
//! Without a webhook, conversion is synchronous ([`text`], [`value`]). Objects that a webhook has to convert are
//! converted beforehand ([`Versions::view`]).

use std::sync::Arc;

use bytes::Bytes;
use kinds::definition::{Definition, Version};
use kinds::events::shape;
use machinery::meta;
use machinery::splice;
use machinery::status::Status;
use serde_json::Value;
use store::Stored;

use super::converted::Shown;
use super::current::Versions;
use super::definitions::Served;
use super::fields;
use super::view::View;
use crate::storage::entries::Entry;
use crate::storage::keys;
use crate::write::decode;

/// Returns whether clients of this version get the stored bytes unchanged.
///
/// Bytes that are older than the schema lack its defaults and may contain fields that the schema does not declare.
pub(crate) fn as_stored(served: &Served, revision: u64) -> bool {
    served.version.name == served.definition.storage_version
        && keys::home(&served.definition).0 == served.definition.group
        && (served.definition.built_in || revision > served.changed_at())
}

/// The revision of an object that is not stored.
const UNSTORED: u64 = u64::MAX;

/// Returns stored text as clients of `served` get it. The caller has ruled out that a webhook must convert it.
pub(super) fn text(served: &Served, stored: &Bytes, revision: u64) -> Bytes {
    if as_stored(served, revision) {
        return stored.clone();
    }
    // Definitions of built-in kinds are shared by the servers of a process, whose objects have the same revisions.
    let cache = Some(served.converted());
    let cache = cache.filter(|_| !served.definition.built_in && revision != UNSTORED);
    if let Some(kept) = cache.and_then(|cache| cache.get(revision, &served.version.name)) {
        return kept.text.clone();
    }
    let Some(object) = parse(stored) else { return stored.clone() };
    let text = fields::text(served, &from_storage(served, object));
    if let Some(cache) = cache {
        cache.add(revision, &served.version.name, text.clone());
    }
    text
}

/// Returns a stored object, parsed, as clients of `served` get it. The caller has ruled out that a webhook must convert
/// it.
pub(crate) fn value(served: &Served, stored: &[u8], revision: u64) -> Option<Value> {
    let object = parse(stored)?;
    Some(if as_stored(served, revision) { object } else { from_storage(served, object) })
}

/// Returns the number of bytes that have to be converted before clients of `served` get an object of `bytes` bytes.
pub(crate) fn work(served: &Served, revision: u64, bytes: usize) -> usize {
    let is_there = || {
        let converted = served.converted();
        !served.definition.built_in && converted.get(revision, &served.version.name).is_some()
    };
    if as_stored(served, revision) || is_there() { 0 } else { bytes }
}

fn parse(text: &[u8]) -> Option<Value> {
    machinery::decode::own(text).ok()
}

fn no_json() -> Status {
    Status::internal("a stored object is not valid JSON")
}

/// Applies the current schema of the version in which the object is stored: prunes and defaults. That version can
/// differ from the current storage version.
fn read(definition: &Definition, object: &mut Value) {
    let (_, version) = meta::group_version(meta::api_version(object));
    let known = definition.version(version).or_else(|| definition.version(&definition.storage_version));
    if let Some(version) = known.filter(|_| !definition.built_in) {
        machinery::schema::prune(&version.schema, object);
        // More defaults than an object may have follow only from a schema that has changed since. A part of them is set then.
        decode::fill(&version.schema, object).ok();
    }
}

fn from_storage(served: &Served, mut object: Value) -> Value {
    if keys::home(&served.definition).0 != served.definition.group {
        shape::from_core(&mut object);
    }
    read(&served.definition, &mut object);
    in_version(&served.definition, &served.version, object)
}

/// Returns `object` in another version of its resource. Without a converter, only `apiVersion` changes. Fields that the
/// version does not declare are removed.
fn in_version(definition: &Definition, version: &Version, object: Value) -> Value {
    if definition.built_in {
        return kinds::in_version(definition, &version.name, object);
    }
    let mut object = definition.converted(object, &version.name);
    machinery::schema::prune(&version.schema, &mut object);
    object
}

/// Refuses an object that is stored in a version that its definition does not contain: the schema of its fields is
/// unknown.
///
/// # Errors
/// 500 with the message of kube-apiserver.
pub(crate) fn check_version(served: &Served, entry: &Entry) -> Result<(), Status> {
    if served.definition.built_in || as_stored(served, entry.revision) {
        return Ok(());
    }
    let found = splice::range(&entry.value, "apiVersion").and_then(|range| entry.value.get(range));
    let Some(api_version) = found.and_then(|text| serde_json::from_slice::<String>(text).ok()) else {
        return Ok(());
    };
    if served.definition.version(meta::group_version(&api_version).1).is_some() {
        return Ok(());
    }
    let why = format!("request to convert CR from an invalid group/version: {api_version}");
    Err(Status::generic(why))
}

impl Versions {
    /// Prepares stored objects for clients of `served`. Calls the webhook once for all of them.
    ///
    /// # Errors
    /// If the webhook fails.
    pub(crate) async fn view(
        &self,
        served: &Served,
        stored: impl Iterator<Item = (&Bytes, u64)>,
    ) -> Result<View, Status> {
        self.view_with(served, stored, |revision| served.converted().get(revision, &served.version.name))
            .await
    }

    async fn view_with(
        &self,
        served: &Served,
        stored: impl Iterator<Item = (&Bytes, u64)>,
        known: impl Fn(u64) -> Option<Arc<Shown>>,
    ) -> Result<View, Status> {
        let mut view = View::default();
        let Some(conversion) = served.definition.conversion.clone() else { return Ok(view) };
        let wanted = served.api_version();
        let (mut asked, mut objects) = (Vec::new(), Vec::new());
        for (text, revision) in stored.filter(|(_, revision)| !as_stored(served, *revision)) {
            if let Some(kept) = known(revision) {
                view.add(revision, kept);
                continue;
            }
            let mut object = parse(text).ok_or_else(no_json)?;
            if meta::api_version(&object) != wanted {
                read(&served.definition, &mut object);
                asked.push(revision);
                objects.push(object);
            }
        }
        let converted = self.webhooks().convert(&conversion, objects, &wanted).await?;
        for (revision, object) in asked.into_iter().zip(converted) {
            let text = fields::text(served, &in_version(&served.definition, &served.version, object));
            view.add(revision, served.converted().add(revision, &served.version.name, text));
        }
        Ok(view)
    }

    /// Like [`Self::view`], for the objects of a list.
    pub(crate) async fn list_view(&self, served: &Served, stored: &[Arc<Stored>]) -> Result<View, Status> {
        self.view(served, stored.iter().map(|entry| (&entry.value, entry.mod_revision.0))).await
    }

    /// Returns one stored object as clients of `served` get it.
    ///
    /// # Errors
    /// If the webhook fails.
    pub(crate) async fn show(&self, served: &Served, stored: &Bytes, revision: u64) -> Result<Bytes, Status> {
        let view = self.view(served, std::iter::once((stored, revision))).await?;
        Ok(view.text(served, stored, revision))
    }

    /// Like [`Self::show`], and calls the webhook even if it has converted the object before: its answer may be another one since.
    pub(crate) async fn show_anew(
        &self,
        served: &Served,
        stored: &Bytes,
        revision: u64,
    ) -> Result<Bytes, Status> {
        let view = self.view_with(served, std::iter::once((stored, revision)), |_| None).await?;
        Ok(view.text(served, stored, revision))
    }

    /// Like [`Self::show`], for an object that [`Self::to_storage`] has returned and that is stored now.
    pub(crate) async fn show_written(
        &self,
        served: &Served,
        mut object: Value,
        entry: &Entry,
    ) -> Result<Bytes, Status> {
        let definition = &served.definition;
        let known = definition.converter.is_some() && served.version.name != definition.storage_version;
        let Some(metadata) = meta::metadata_mut(&mut object).filter(|_| known) else {
            return self.show(served, &entry.value, entry.revision).await;
        };
        metadata.insert("resourceVersion".to_owned(), entry.revision.to_string().into());
        let text = fields::text(served, &in_version(definition, &served.version, object));
        served.converted().add(entry.revision, &served.version.name, text.clone());
        Ok(text)
    }

    /// Like [`Self::show`], for an object without a revision in the store: the result of a dry run, or a deleted
    /// object.
    pub(crate) async fn show_unstored(&self, served: &Served, text: Bytes) -> Result<Bytes, Status> {
        if served.definition.conversion.is_none() {
            return Ok(self::text(served, &text, UNSTORED));
        }
        let object = parse(&text).ok_or_else(no_json)?;
        if meta::api_version(&object) == served.api_version() {
            return Ok(text);
        }
        let object = self.in_version(&served.definition, &served.version, object).await?;
        Ok(fields::text(served, &object))
    }

    /// Returns an object in another version of its resource.
    ///
    /// # Errors
    /// If the webhook fails.
    pub(crate) async fn in_version(
        &self,
        definition: &Definition,
        version: &Version,
        mut object: Value,
    ) -> Result<Value, Status> {
        let wanted = definition.api_version(&version.name);
        if let Some(conversion) = &definition.conversion
            && meta::api_version(&object) != wanted
        {
            let converted = self.webhooks().convert(conversion, vec![object], &wanted).await?;
            object = converted.into_iter().next().ok_or_else(no_json)?;
        }
        Ok(in_version(definition, version, object))
    }

    /// Returns one stored object, parsed, as clients of `served` get it.
    ///
    /// # Errors
    /// If the webhook fails.
    pub(crate) async fn read(&self, served: &Served, entry: &Entry) -> Result<Value, Status> {
        if served.definition.conversion.is_none() {
            return value(served, &entry.value, entry.revision).ok_or_else(no_json);
        }
        parse(&self.show(served, &entry.value, entry.revision).await?).ok_or_else(no_json)
    }

    /// Converts an object from the version of `served` to the storage version.
    ///
    /// # Errors
    /// If the webhook fails.
    pub(crate) async fn to_storage(&self, served: &Served, mut object: Value) -> Result<Value, Status> {
        let definition = &served.definition;
        if keys::home(definition).0 != definition.group {
            shape::to_core(&mut object);
            return Ok(object);
        }
        if served.version.name == definition.storage_version {
            return Ok(object);
        }
        if definition.built_in {
            object = kinds::in_version(definition, &definition.storage_version, object);
            served.strategy().normalize(&mut object);
            return Ok(object);
        }
        let stored_as = definition.api_version(&definition.storage_version);
        if let Some(conversion) = &definition.conversion {
            let converted = self.webhooks().convert(conversion, vec![object], &stored_as).await?;
            object = converted.into_iter().next().ok_or_else(no_json)?;
        } else {
            object = definition.converted(object, &definition.storage_version);
        }
        // The answer to the write is read back from the store, so pruning and defaults of the storage version apply to
        // every version.
        if let Some(storage) = definition.version(&definition.storage_version) {
            machinery::schema::prune(&storage.schema, &mut object);
            let filled = decode::fill(&storage.schema, &mut object);
            filled.map_err(|problem| decode::refused(served, &problem))?;
        }
        Ok(object)
    }
}
