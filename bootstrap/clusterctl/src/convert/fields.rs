//! Moves fields of objects from one place to another. If a field is missing, it is also left out at the new place.

use serde_json::{Map, Value};

use crate::{Error, Result};

/// Removes the field at a JSON pointer and returns it. Null counts as missing.
pub(super) fn take(object: &mut Value, pointer: &str) -> Option<Value> {
    let (parent, field) = pointer.rsplit_once('/')?;
    let taken = object.pointer_mut(parent)?.as_object_mut()?.remove(field)?;
    Some(taken).filter(|value| !value.is_null())
}

/// Sets a field, and creates the objects that contain it.
pub(super) fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for part in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[part];
    }
    *at = value;
}

/// Moves a field.
pub(super) fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(value) = take(object, from) {
        put(object, to, value);
    }
}

/// Moves a duration such as `10m0s`; at the new place it is a whole number of seconds.
pub(super) fn seconds(object: &mut Value, from: &str, to: &str) -> Result<()> {
    let Some(value) = take(object, from) else { return Ok(()) };
    let duration = value.as_str().and_then(machinery::duration::parse);
    let duration = duration.ok_or_else(|| Error::invalid(format!("{from}: {value} is not a duration")))?;
    put(object, to, i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).into());
    Ok(())
}

/// Changes a reference with an API version to one with a group; an empty reference is dropped.
pub(super) fn reference(object: &mut Value, pointer: &str) {
    let Some(old) = take(object, pointer) else { return };
    let version = old["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let mut new = Map::new();
    for (field, value) in [("apiGroup", group), ("kind", text(&old, "kind")), ("name", text(&old, "name"))] {
        if !value.is_empty() {
            new.insert(field.to_owned(), value.into());
        }
    }
    if !new.is_empty() {
        put(object, pointer, new.into());
    }
}

/// Moves a reference to a template and keeps only its version, kind and name.
pub(super) fn template(object: &mut Value, from: &str, to: &str) {
    let Some(old) = take(object, from) else { return };
    let mut new = Map::new();
    for field in ["apiVersion", "kind", "name"] {
        let value = text(&old, field);
        if !value.is_empty() {
            new.insert(field.to_owned(), value.into());
        }
    }
    if !new.is_empty() {
        put(object, to, new.into());
    }
}

/// All entries of a list.
pub(super) fn each<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Removes objects that have become empty.
pub(super) fn drop_empty(object: &mut Value, pointers: &[&str]) {
    for pointer in pointers {
        let empty = object.pointer(pointer).and_then(Value::as_object).is_some_and(Map::is_empty);
        if empty {
            take(object, pointer);
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
