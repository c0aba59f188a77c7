//! Small accessors over objects.

use serde_json::{Map, Value};

/// The string at `path`; empty when there is none.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at `path`.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// `metadata.name`
pub fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// `metadata.namespace`
pub fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

/// `metadata.uid`
pub fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// `metadata.resourceVersion`
pub fn resource_version(object: &Value) -> &str {
    text(object, &["metadata", "resourceVersion"])
}

/// `metadata.generation`; 0 when there is none.
pub fn generation(object: &Value) -> i64 {
    at(object, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0)
}

/// `apiVersion`
pub fn api_version(object: &Value) -> &str {
    text(object, &["apiVersion"])
}

/// `kind`
pub fn kind(object: &Value) -> &str {
    text(object, &["kind"])
}

/// `apiVersion` as group and version.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// `metadata.labels`
pub fn labels(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "labels"]).and_then(Value::as_object)
}

/// `metadata.annotations`
pub fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    at(object, &["metadata", "annotations"]).and_then(Value::as_object)
}

/// Whether `metadata.deletionTimestamp` is set.
pub fn is_deleting(object: &Value) -> bool {
    at(object, &["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
}

/// `metadata.finalizers`
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    at(object, &["metadata", "finalizers"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// `metadata.ownerReferences`
pub fn owner_references(object: &Value) -> &[Value] {
    at(object, &["metadata", "ownerReferences"]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata` as a map to write to, created when missing. `None` when the object or its metadata is no map.
pub fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}
