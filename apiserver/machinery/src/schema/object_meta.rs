//! Conversion of `metadata` to the shape of `ObjectMeta`.

use serde_json::Value;

use crate::decode::Problems;

const TEXTS: [&str; 6] = ["name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"];
const TIMES: [&str; 2] = ["creationTimestamp", "deletionTimestamp"];
const NUMBERS: [&str; 2] = ["generation", "deletionGracePeriodSeconds"];
const TEXT_MAPS: [&str; 2] = ["labels", "annotations"];

/// Gives `metadata` the shape of `ObjectMeta` after decoding and encoding: unknown fields and empty fields are removed.
/// Wrong types are an error with the message of Go's decoder.
pub(super) fn object_meta(metadata: &mut Value, path: &str, unknown: &mut Problems) -> Result<(), String> {
    let Value::Object(map) = metadata else {
        return match metadata {
            Value::Null => Ok(()),
            other => Err(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                json_type(other)
            )),
        };
    };
    let mut failure = None;
    map.retain(|key, value| {
        let key = key.as_str();
        let known = match check_meta_field(key, value) {
            Ok(known) => known,
            Err(why) => {
                failure.get_or_insert(why);
                return true;
            }
        };
        if !known {
            unknown.note(|| format!("{path}.{key}"));
        }
        prune_items(key, value, &format!("{path}.{key}"), unknown);
        known && !empty(key, value)
    });
    match failure {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// Returns the fields of the items of a list in `metadata`.
fn item_fields(key: &str) -> Option<&'static [&'static str]> {
    match key {
        "ownerReferences" => Some(&["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"]),
        "managedFields" => {
            Some(&["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"])
        }
        _ => None,
    }
}

fn prune_items(key: &str, value: &mut Value, path: &str, unknown: &mut Problems) {
    let (Some(fields), Some(items)) = (item_fields(key), value.as_array_mut()) else { return };
    for (index, item) in items.iter_mut().enumerate() {
        let Some(item) = item.as_object_mut() else { continue };
        item.retain(|name, _| {
            let known = fields.contains(&name.as_str());
            if !known {
                unknown.note(|| format!("{path}[{index}].{name}"));
            }
            known
        });
    }
}

fn empty(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(number) => key == "generation" && number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

/// Returns whether `ObjectMeta` has the field, or an error if the type is wrong.
fn check_meta_field(key: &str, value: &mut Value) -> Result<bool, String> {
    if value.is_null() {
        return Ok(TEXTS.contains(&key)
            || TIMES.contains(&key)
            || NUMBERS.contains(&key)
            || TEXT_MAPS.contains(&key)
            || ["finalizers", "ownerReferences", "managedFields"].contains(&key));
    }
    let expect = |right: bool, found: &Value, go_type: &str| {
        if right {
            return Ok(true);
        }
        let found = json_type(found);
        Err(format!("json: cannot unmarshal {found} into Go struct field ObjectMeta.{key} of type {go_type}"))
    };
    nulls_to_texts(key, value);
    let value = &*value;
    match key {
        _ if TEXTS.contains(&key) => {
            let go_type = if key == "uid" { "types.UID" } else { "string" };
            expect(value.is_string(), value, go_type)
        }
        _ if NUMBERS.contains(&key) => expect(value.is_i64() || value.is_f64(), value, "int64"),
        _ if TIMES.contains(&key) => match value {
            Value::String(text) => time(text).map(|()| true),
            other => expect(false, other, "string"),
        },
        _ if TEXT_MAPS.contains(&key) => {
            let Some(map) = value.as_object() else { return expect(false, value, "map[string]string") };
            let wrong = map.values().find(|value| !value.is_string() && !value.is_null());
            wrong.map_or(Ok(true), |value| expect(false, value, "string"))
        }
        "finalizers" => {
            let Some(list) = value.as_array() else { return expect(false, value, "[]string") };
            let wrong = list.iter().find(|value| !value.is_string());
            wrong.map_or(Ok(true), |value| expect(false, value, "string"))
        }
        "ownerReferences" => owner_references(value),
        "managedFields" => {
            let times = value.as_array().into_iter().flatten().filter_map(|entry| entry["time"].as_str());
            times.into_iter().try_for_each(time)?;
            expect(value.is_array(), value, "[]v1.ManagedFieldsEntry")
        }
        _ => Ok(false),
    }
}

/// Replaces nulls in lists and maps of strings by the empty string, as Go's decoder does.
fn nulls_to_texts(key: &str, value: &mut Value) {
    let nulls = |value: &mut Value| {
        if value.is_null() {
            *value = "".into();
        }
    };
    match value {
        Value::Object(map) if TEXT_MAPS.contains(&key) => map.values_mut().for_each(nulls),
        Value::Array(list) if key == "finalizers" => list.iter_mut().for_each(nulls),
        Value::Array(list) if key == "ownerReferences" => {
            list.iter_mut().filter_map(Value::as_object_mut).for_each(|owner| {
                owner.retain(|name, value| {
                    let text = matches!(name.as_str(), "apiVersion" | "kind" | "name" | "uid");
                    if text && value.is_null() {
                        *value = "".into();
                    }
                    !value.is_null()
                });
            });
        }
        _ => {}
    }
}

fn owner_references(value: &Value) -> Result<bool, String> {
    let wrong = |found: &Value, field: &str, go_type: &str| {
        let found = json_type(found);
        Err(format!("json: cannot unmarshal {found} into Go struct field {field} of type {go_type}"))
    };
    let Some(list) = value.as_array() else {
        return wrong(value, "ObjectMeta.ownerReferences", "[]v1.OwnerReference");
    };
    for owner in list {
        let Some(map) = owner.as_object() else {
            return wrong(owner, "ObjectMeta.ownerReferences", "v1.OwnerReference");
        };
        for (key, value) in map {
            let (right, go_type) = match key.as_str() {
                "apiVersion" | "kind" | "name" => (value.is_string(), "string"),
                "uid" => (value.is_string(), "types.UID"),
                "controller" | "blockOwnerDeletion" => (value.is_boolean() || value.is_null(), "bool"),
                _ => (true, ""),
            };
            if !right {
                return wrong(value, &format!("OwnerReference.ownerReferences.{key}"), go_type);
            }
        }
    }
    Ok(true)
}

fn time(text: &str) -> Result<(), String> {
    match chrono::DateTime::parse_from_rfc3339(text) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!(
            "parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"{text}\" as \"2006\""
        )),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
