//! Ownership after writes other than apply.

use serde_json::Value;

use super::managed::{
    self, Managers, copy_without_managed_fields, with_managed_fields, without_managed_fields,
};
use super::writer::Writer;
use crate::meta;

/// Maintains `managedFields` for any write except apply. `live` is the stored object, or `None` at creation. `new` is
/// the object to store, after defaulting and before the strategy resets fields.
pub fn update(live: Option<&Value>, mut new: Value, writer: &Writer<'_>) -> Value {
    let live_fields = live.and_then(|live| meta::at(live, &["metadata", "managedFields"]));
    let new_fields = meta::at(&new, &["metadata", "managedFields"]).filter(|fields| !fields.is_null());
    let of_live = || managed::decode(live_fields).unwrap_or_default();
    let mut managers = match new_fields {
        _ if !writer.subresource.is_empty() => of_live(),
        Some(fields) if is_reset(fields) => Managers::new(),
        // A client that does not know `managedFields` must not delete them by omitting them.
        fields => managed::decode(fields).ok().filter(|fields| !fields.is_empty()).unwrap_or_else(of_live),
    };
    new = without_managed_fields(new);
    // An object without managers stays untracked until the first apply.
    if managers.is_empty() && live.is_some_and(|live| !meta::uid(live).is_empty()) {
        return new;
    }
    let live = live.map_or_else(|| writer.empty_object(&new), copy_without_managed_fields);
    writer.record(&live, &new, &mut managers, writer.manager);
    managed::cap_updates(&mut managers);
    with_managed_fields(new, &managers)
}

/// Returns whether the client resets all entries, by `[]` or `[{}]`.
fn is_reset(fields: &Value) -> bool {
    match fields.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => {
            only.as_object().is_some_and(|entry| entry.values().all(|value| value.is_null() || value == ""))
        }
        _ => false,
    }
}

/// Restores the old times if `new` differs from `old` only in the times of `managedFields`, so that the write is
/// recognized as one without changes.
pub fn keep_times(old: &Value, new: &mut Value) {
    let path = &["metadata", "managedFields"][..];
    let (Some(old_fields), Some(new_fields)) = (meta::at(old, path), meta::at(new, path)) else { return };
    if old_fields == new_fields || !same_but_times(old_fields, new_fields) {
        return;
    }
    let mut candidate = new.clone();
    if let Some(metadata) = meta::metadata_mut(&mut candidate) {
        metadata.insert("managedFields".to_owned(), old_fields.clone());
    }
    if candidate == *old {
        *new = candidate;
    }
}

fn same_but_times(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return false };
    let same = |(old, new): (&Value, &Value)| match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            let timeless = |(name, _): &(&String, &Value)| *name != "time";
            old.iter().filter(timeless).eq(new.iter().filter(timeless))
        }
        _ => false,
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
}
