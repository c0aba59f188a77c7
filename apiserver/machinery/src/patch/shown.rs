//! The text form of objects in the message of a 422.

use serde_json::{Map, Value};

const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];

const MANAGED_FIELDS: [&str; 7] =
    ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// Returns the JSON text with metadata in the order of Go's `ObjectMeta`, as for objects of built-in kinds. The other
/// fields are sorted.
pub fn built_in(object: &Value) -> String {
    let Value::Object(fields) = object else { return object.to_string() };
    map(fields, &[], &|name, value| match (name, value) {
        ("metadata", Value::Object(fields)) => metadata(fields),
        _ => value.to_string(),
    })
}

/// Returns the JSON text of metadata in the order of Go's `ObjectMeta`.
pub fn metadata(fields: &Map<String, Value>) -> String {
    map(fields, &METADATA, &|name, value| match (name, value) {
        ("ownerReferences", Value::Array(items)) => list(items, &OWNER),
        ("managedFields", Value::Array(items)) => list(items, &MANAGED_FIELDS),
        _ => value.to_string(),
    })
}

fn list(items: &[Value], order: &[&str]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| match item {
            Value::Object(fields) => map(fields, order, &|_, value| value.to_string()),
            other => other.to_string(),
        })
        .collect();
    format!("[{}]", items.join(","))
}

/// Writes the fields of `order` first, in that order, then the other fields.
fn map(fields: &Map<String, Value>, order: &[&str], write: &dyn Fn(&str, &Value) -> String) -> String {
    let first = order.iter().filter_map(|name| fields.get_key_value(*name));
    let rest = fields.iter().filter(|(name, _)| !order.contains(&name.as_str()));
    let written: Vec<String> = first
        .chain(rest)
        .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), write(name, value)))
        .collect();
    format!("{{{}}}", written.join(","))
}
