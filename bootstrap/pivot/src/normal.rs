//! The part of an object that must arrive, without the fields that each server sets itself. Pure.

use serde_json::{Map, Value};

use crate::names;

/// Metadata that a server sets itself.
const OF_THE_SERVER: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "selfLink",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// Returns the object without the fields that naturally differ between servers, and without those that the pivot itself changes: the
/// pause, and the conditions by which controllers confirm it.
pub fn normal(mut object: Value) -> Value {
    let is_class = object["kind"] == "ClusterClass";
    if object["kind"] == "Cluster"
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("paused");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| !OF_THE_SERVER.contains(&name.as_str()));
        for field in ["annotations", "labels"] {
            if let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) {
                entries.retain(|name, _| !names::OF_THE_PIVOT.contains(&name.as_str()));
                if is_class {
                    entries.remove(names::PAUSED);
                }
            }
        }
        metadata.retain(|_, value| !is_empty(value));
    }
    if let Some(status) = object.get_mut("status") {
        normal_status(status);
    }
    if let Some(fields) = object.as_object_mut()
        && fields.get("status").is_some_and(is_empty)
    {
        fields.remove("status");
    }
    object
}

/// Returns the normal form without the status.
pub fn without_status(object: &Value) -> Value {
    let mut object = normal(object.clone());
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// `Paused` conditions and observed generations describe the history at one server.
fn normal_status(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("observedGeneration");
            for (name, value) in fields.iter_mut() {
                if let (true, Some(conditions)) = (name.as_str() == "conditions", value.as_array_mut()) {
                    conditions.retain(|condition| condition["type"] != "Paused");
                }
                normal_status(value);
            }
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(normal_status),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Returns a number that changes if a part of the object changes that must arrive.
pub fn fingerprint(object: Value) -> u64 {
    machinery::hash::fnv1a_64(normal(object).to_string().as_bytes())
}

/// Returns the path at which two values first differ. The values themselves are not shown, because they may be secret.
pub fn difference(one: &Value, other: &Value) -> Option<String> {
    let found = differing(one, other)?;
    Some(if found.is_empty() { "everything".to_owned() } else { found.trim_start_matches('.').to_owned() })
}

fn differing(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let missing = |fields: &Map<String, Value>| !fields.contains_key(name);
                if missing(one) || missing(other) {
                    return Some(format!(".{name}"));
                }
                differing(&one[name], &other[name]).map(|rest| format!(".{name}{rest}"))
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).enumerate().find_map(|(index, (one, other))| {
                differing(one, other).map(|rest| format!("[{index}]{rest}"))
            })
        }
        (one, other) => (one != other).then(String::new),
    }
}

/// `managedFields` without the times, in a fixed order.
pub fn managers(object: &Value) -> Vec<Value> {
    let mut entries: Vec<Value> = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for entry in &mut entries {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    entries.sort_by_key(ToString::to_string);
    entries
}
