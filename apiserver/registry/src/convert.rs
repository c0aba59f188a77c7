//! Between the version that is stored and the one asked for.

use bytes::Bytes;
use serde_json::Value;

use crate::definition::{Definition, Version};
use crate::definitions::Served;
use crate::{document, events, keys};

/// Whether the stored bytes are what clients of this version get.
///
/// Bytes older than the schema lack its defaults (and may have fields that it no longer knows).
fn as_stored(served: &Served, revision: u64) -> bool {
    served.version.name == served.definition.storage_version
        && keys::home(&served.definition).0 == served.definition.group
        && (served.definition.built_in || revision > served.resource.changed_at)
}

/// Stored text as clients of `served` see it.
pub(crate) fn text(served: &Served, stored: &Bytes, revision: u64) -> Bytes {
    if as_stored(served, revision) {
        return stored.clone();
    }
    match parse(stored) {
        Some(object) => document::text(&from_storage(served, object)),
        None => stored.clone(),
    }
}

/// A stored object, parsed, as clients of `served` see it.
pub(crate) fn value(served: &Served, stored: &[u8], revision: u64) -> Option<Value> {
    let object = parse(stored)?;
    Some(if as_stored(served, revision) { object } else { from_storage(served, object) })
}

fn parse(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok()
}

fn from_storage(served: &Served, mut object: Value) -> Value {
    if keys::home(&served.definition).0 != served.definition.group {
        events::from_core(&mut object);
    }
    let definition = &served.definition;
    // What is stored is read by the schema of the stored version; the version asked for only hides what it lacks.
    if let Some(stored) = definition.version(&definition.storage_version).filter(|_| !definition.built_in) {
        machinery::schema::prune(&stored.schema, &mut object);
        machinery::schema::default(&stored.schema, &mut object);
    }
    in_version(definition, &served.version, object)
}

/// `object` under another version of its resource: the `None` conversion changes `apiVersion` only, and fields that
/// the version does not know go.
pub(crate) fn in_version(definition: &Definition, version: &Version, mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), definition.api_version(&version.name).into());
    }
    if !definition.built_in {
        machinery::schema::prune(&version.schema, &mut object);
    }
    object
}

/// An object in the version of `served` as it is stored.
pub(crate) fn to_storage(served: &Served, mut object: Value) -> Value {
    let definition = &served.definition;
    if keys::home(definition).0 != definition.group {
        events::to_core(&mut object);
    } else if served.version.name != definition.storage_version {
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".into(), definition.api_version(&definition.storage_version).into());
        }
        // The answer to the write is read back from what is stored: its fields and defaults show in every version.
        if let Some(storage) =
            definition.version(&definition.storage_version).filter(|_| !definition.built_in)
        {
            machinery::schema::prune(&storage.schema, &mut object);
            machinery::schema::default(&storage.schema, &mut object);
        }
    }
    object
}
