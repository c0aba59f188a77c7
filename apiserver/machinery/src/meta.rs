//! Accessors for common fields of objects.

use serde_json::{Map, Value};

/// Returns the string at `path`, or an empty text if it is absent.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the value at `path`, or `None` if it is absent.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// Returns `metadata.name`, empty if absent.
pub fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// Returns `metadata.namespace`, empty if absent.
pub fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

/// Returns `metadata.uid`, empty if absent.
pub fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// Returns `metadata.resourceVersion`, empty if absent.
pub fn resource_version(object: &Value) -> &str {
    text(object, &["metadata", "resourceVersion"])
}

/// Returns `metadata.generation`, 0 if absent.
pub fn generation(object: &Value) -> i64 {
    at(object, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0)
}

/// Returns `apiVersion`, empty if absent.
pub fn api_version(object: &Value) -> &str {
    text(object, &["apiVersion"])
}

/// Returns `kind`, empty if absent.
pub fn kind(object: &Value) -> &str {
    text(object, &["kind"])
}

/// Splits `apiVersion` into group and version.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Returns `metadata.labels` as a map.
pub fn labels(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "labels"]).and_then(Value::as_object)
}

/// Returns `metadata.annotations` as a map.
pub fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "annotations"]).and_then(Value::as_object)
}

/// Returns whether `metadata.deletionTimestamp` is set.
pub fn is_deleting(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// Returns the names in `metadata.finalizers`.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    at(object, &["metadata", "finalizers"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Returns `metadata.ownerReferences`, empty if absent.
pub fn owner_references(object: &Value) -> &[Value] {
    at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns `metadata` as a mutable map, which is created if it is missing. Returns `None` if the object or its metadata
/// is not a map.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}
