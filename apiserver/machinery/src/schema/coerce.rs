//! The steps between decoding and defaulting of a custom resource: `metadata` of the object and of embedded resources
//! gets the shape of `ObjectMeta`, unknown fields are pruned, and nulls without meaning are dropped.

use serde_json::{Map, Value};

use super::object_meta::object_meta;
use super::prune::META_FIELDS;
use super::{Schema, drop_nulls, prune};
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
