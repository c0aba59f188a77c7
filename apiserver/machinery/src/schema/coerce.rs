//! The steps between decoding and defaulting of a custom resource: `metadata` of the object and of embedded resources
//! gets the shape of `ObjectMeta`, unknown fields are pruned, and nulls without meaning are dropped.

use serde_json::{Map, Value};

use super::prune::META_FIELDS;
use super::{Schema, drop_nulls, names, prune};
use crate::decode::Problems;
use crate::field::{FieldError, FieldErrorKind};

/// Applies all steps. Returns the paths of the removed unknown fields in the order of kube-apiserver, those of
/// `metadata` first.
///
/// # Errors
/// The message of the status 400, without `Kind in version "v" cannot be handled as`, if `metadata` does not have the
/// types of `ObjectMeta`, or if `apiVersion` or `kind` of an embedded resource is not a string.
pub fn coerce(schema: &Schema, object: &mut Value) -> Result<Vec<String>, String> {
    let (mut of_metadata, mut of_embedded) = (Problems::default(), Problems::default());
    if let Some(metadata) = object.get_mut("metadata") {
        object_meta(metadata, "metadata", &mut of_metadata)?;
    }
    let mut unknown = of_metadata.into_paths();
    unknown.extend(prune(schema, object));
    drop_nulls(schema, object);
    whole_numbers(object);
    embedded(schema, object, "", true, &mut of_embedded)?;
    unknown.extend(of_embedded.into_paths());
    Ok(unknown)
}

/// Converts floats without a fraction to integers. Go writes them so, and `2.0` comes back as `2`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|f| number.is_f64() && f.fract() == 0.0 && (-9.2e18..9.2e18).contains(f));
            if let Some(whole) = whole {
                *number = (whole as i64).into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

fn embedded(
    schema: &Schema,
    value: &mut Value,
    path: &str,
    root: bool,
    unknown: &mut Problems,
) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource && !root {
                type_and_meta(map, path, unknown)?;
            }
            for (key, value) in map.iter_mut() {
                if (root || schema.embedded_resource) && META_FIELDS.contains(&key.as_str()) {
                    continue;
                }
                let child = schema.child(key);
                if let Some(child) = child.filter(|child| child.has_embedded) {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    embedded(child, value, &path, false, unknown)?;
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref().filter(|items| items.has_embedded) else {
                return Ok(());
            };
            for (i, item) in list.iter_mut().enumerate() {
                embedded(items, item, &format!("{path}[{i}]"), false, unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn type_and_meta(map: &mut Map<String, Value>, path: &str, unknown: &mut Problems) -> Result<(), String> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = map.get(key).filter(|value| !value.is_string()) {
            let path = format!("{path}.{key}");
            return Err(FieldError::new(FieldErrorKind::Invalid, path, value, "must be a string").to_string());
        }
    }
    let Some(metadata) = map.get_mut("metadata") else { return Ok(()) };
    let path = format!("{path}.metadata");
    if metadata.is_null() {
        map.remove("metadata");
        return Ok(());
    }
    let before = metadata.clone();
    object_meta(metadata, &path, unknown)
        .map_err(|why| FieldError::new(FieldErrorKind::Invalid, path, &before, why).to_string())
}

const TEXTS: [&str; 6] = ["name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"];
const TIMES: [&str; 2] = ["creationTimestamp", "deletionTimestamp"];
const NUMBERS: [&str; 2] = ["generation", "deletionGracePeriodSeconds"];
const TEXT_MAPS: [&str; 2] = ["labels", "annotations"];

/// Gives `metadata` the shape of `ObjectMeta` after decoding and encoding: unknown fields and empty fields are removed.
/// Wrong types are an error with the message of Go's decoder.
fn object_meta(metadata: &mut Value, path: &str, unknown: &mut Problems) -> Result<(), String> {
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

/// Validates `apiVersion`, `kind` and `metadata` of embedded resources.
pub fn validate_embedded(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk_embedded(schema, object, "", true, &mut errors);
    errors
}

fn walk_embedded(schema: &Schema, value: &Value, path: &str, root: bool, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource && !root {
                embedded_resource(map, path, errors);
            }
            for (key, value) in map {
                if root && META_FIELDS.contains(&key.as_str()) {
                    continue;
                }
                let (child, path) = match (
                    schema.properties.get(key).map(Box::as_ref),
                    schema.additional_properties.as_deref(),
                ) {
                    (Some(child), _) if path.is_empty() => (child, key.clone()),
                    (Some(child), _) => (child, format!("{path}.{key}")),
                    (None, Some(child)) => (child, format!("{path}[{key}]")),
                    (None, None) => continue,
                };
                if child.has_embedded {
                    walk_embedded(child, value, &path, false, errors);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref().filter(|items| items.has_embedded) else { return };
            for (i, item) in list.iter().enumerate() {
                walk_embedded(items, item, &format!("{path}[{i}]"), false, errors);
            }
        }
        _ => {}
    }
}

fn embedded_resource(map: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    let invalid = |field: &str, value: &str, detail: String| {
        FieldError::new(FieldErrorKind::Invalid, format!("{path}.{field}"), &value.into(), detail)
    };
    let required = |field: &str| FieldError::bare(FieldErrorKind::Required, format!("{path}.{field}"), "");
    match map.get("apiVersion").and_then(Value::as_str) {
        None => errors.push(required("apiVersion")),
        Some("") => errors.push(invalid("apiVersion", "", "must not be empty".into())),
        Some(version) if version.matches('/').count() > 1 => {
            errors.push(invalid("apiVersion", version, format!("unexpected GroupVersion string: {version}")));
        }
        Some(_) => {}
    }
    match map.get("kind").and_then(Value::as_str) {
        None => errors.push(required("kind")),
        Some("") => errors.push(invalid("kind", "", "must not be empty".into())),
        Some(kind) => {
            for why in names::dns1035_label(&kind.to_ascii_lowercase()) {
                let detail = format!("may have mixed case, but should otherwise match: {why}");
                errors.push(invalid("kind", kind, detail));
            }
        }
    }
    let Some(metadata) = map.get("metadata").and_then(Value::as_object) else { return };
    errors.extend(names::validate_labels(metadata.get("labels"), &format!("{path}.metadata.labels")));
    errors.extend(names::validate_annotations(
        metadata.get("annotations"),
        &format!("{path}.metadata.annotations"),
    ));
}
