//! Decoding of a Scale: its types and unknown fields.

use serde_json::Value;

/// Checks the types of a Scale like Go's decoder.
pub(crate) fn check_types(scale: &Value) -> Result<(), String> {
    for (part, holder) in [("metadata", "ObjectMeta"), ("spec", "ScaleSpec"), ("status", "ScaleStatus")] {
        let found = match &scale[part] {
            Value::Null | Value::Object(_) => continue,
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
        };
        return Err(format!(
            "json: cannot unmarshal {found} into Go struct field Scale.{part} of type v1.{holder}"
        ));
    }
    for (part, field, wanted) in
        [("spec", "replicas", "int32"), ("status", "replicas", "int32"), ("status", "selector", "string")]
    {
        let value = &scale[part][field];
        let (fits, found) = match value {
            Value::Null => (true, "null"),
            Value::Bool(_) => (false, "bool"),
            Value::Number(number) => {
                let count = number.as_i64().is_some_and(|count| i32::try_from(count).is_ok());
                (wanted == "int32" && count, "number")
            }
            Value::String(_) => (wanted == "string", "string"),
            Value::Array(_) => (false, "array"),
            Value::Object(_) => (false, "object"),
        };
        if !fits {
            let exact = found == "number" && wanted == "int32";
            let found = if exact { format!("number {value}") } else { found.to_owned() };
            let holder = if part == "spec" { "ScaleSpec" } else { "ScaleStatus" };
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {holder}.{part}.{field} of type {wanted}"
            ));
        }
    }
    Ok(())
}

const FIELDS: [(&str, &[&str]); 5] = [
    ("apiVersion", &[]),
    ("kind", &[]),
    ("metadata", &[]),
    ("spec", &["replicas"]),
    ("status", &["replicas", "selector"]),
];

/// Removes unknown fields of a Scale, and returns the findings of strict decoding.
pub(crate) fn prune(scale: &mut Value) -> Vec<String> {
    let mut unknown = kinds::metadata::prune(scale);
    let Some(map) = scale.as_object_mut() else { return unknown };
    map.retain(|key, value| {
        let Some((_, inner)) = FIELDS.iter().find(|(field, _)| field == key) else {
            unknown.push(format!("unknown field \"{key}\""));
            return false;
        };
        if let (Some(map), false) = (value.as_object_mut(), inner.is_empty()) {
            map.retain(|field, _| {
                let known = inner.contains(&field.as_str());
                if !known {
                    unknown.push(format!("unknown field \"{key}.{field}\""));
                }
                known
            });
        }
        true
    });
    unknown
}
