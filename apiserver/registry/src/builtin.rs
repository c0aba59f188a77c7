//! Decoding of built-in kinds, whose types are Go structs on a real server: the errors show it.

use machinery::schema::{Kind, Schema};
use machinery::types::Presence;
use serde_json::Value;

use crate::decode::empty;
use crate::definition::Definition;

/// Checks types, removes unknown fields (and answers their paths), and drops what Go's `omitempty` would.
///
/// # Errors
/// What Go's decoder says about the first value of a wrong type.
pub(crate) fn decode(
    definition: &Definition,
    schema: &Schema,
    object: &mut Value,
) -> Result<Vec<String>, String> {
    let mut walk = Walk { unknown: Vec::new() };
    let mut path = Vec::new();
    walk.object(schema, object, &definition.kind, &mut path)?;
    Ok(walk.unknown)
}

struct Walk {
    unknown: Vec<String>,
}

impl Walk {
    fn object(
        &mut self,
        schema: &Schema,
        object: &mut Value,
        owner: &str,
        path: &mut Vec<String>,
    ) -> Result<(), String> {
        let Some(map) = object.as_object_mut() else { return Ok(()) };
        let keys: Vec<String> = map.keys().cloned().collect();
        for key in keys {
            let root = path.is_empty();
            if root && matches!(key.as_str(), "apiVersion" | "kind") {
                continue;
            }
            let metadata;
            let child = if root && key == "metadata" {
                metadata = crate::object_meta::schema();
                Some(metadata)
            } else {
                schema.child(&key)
            };
            let known = schema.properties.contains_key(&key) || (root && key == "metadata");
            // Go does not name the keys of maps.
            path.push(if known || child.is_none() { key.clone() } else { format!("[{key}]") });
            match (child, map.get_mut(&key)) {
                // Go reads null as the zero value; in a map of strings that is the empty string.
                (Some(child), Some(value))
                    if value.is_null() && !known && child.kind == Some(Kind::String) =>
                {
                    *value = "".into();
                }
                (Some(child), Some(value)) => {
                    let owner = if root && key == "metadata" { "ObjectMeta" } else { owner };
                    self.value(child, value, owner, path)?;
                    if known && left_out(child, &key, value) {
                        map.remove(&key);
                    }
                }
                _ if schema.preserve_unknown_fields => {}
                _ => {
                    self.unknown.push(path.join(".").replace(".[", "["));
                    map.remove(&key);
                }
            }
            path.pop();
        }
        Ok(())
    }

    fn value(
        &mut self,
        schema: &Schema,
        value: &mut Value,
        owner: &str,
        path: &mut Vec<String>,
    ) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        if is_quantity(schema) && (value.is_number() || value.is_string()) {
            return quantity(value);
        }
        if !fits(schema, value) {
            return Err(mismatch(schema, value, owner, path));
        }
        match value {
            Value::Object(_) => self.object(schema, value, owner, path),
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return Ok(()) };
                for (index, item) in list.iter_mut().enumerate() {
                    path.push(format!("[{index}]"));
                    self.value(items, item, owner, path)?;
                    path.pop();
                }
                Ok(())
            }
            Value::String(text) => check_format(schema.validation.format.as_deref(), text),
            _ => Ok(()),
        }
    }
}

/// Whether Go leaves the value out when it writes the object.
fn left_out(schema: &Schema, key: &str, value: &Value) -> bool {
    match schema.presence {
        Some(Presence::NotZero) => empty(value) || value == false || value.as_i64() == Some(0),
        Some(Presence::NotNil) => value.is_null(),
        Some(_) => false,
        None => {
            empty(value)
                && !(schema.nullable && (value.is_null() || value.is_array()))
                && !schema.preserve_unknown_fields
                // A pointer in Go: the empty string is a value. `minLength: 0` says so.
                && !(value == "" && schema.validation.min_length == Some(0))
                // An empty list resets ownership.
                && !(key == "managedFields" && value.is_array())
        }
    }
}

/// Quantities are kept in their canonical form; numbers are quantities too.
fn quantity(value: &mut Value) -> Result<(), String> {
    let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
    *value = machinery::quantity::canonical(&text)?.into();
    Ok(())
}

fn is_quantity(schema: &Schema) -> bool {
    schema.validation.format.as_deref() == Some("quantity")
}

fn fits(schema: &Schema, value: &Value) -> bool {
    if schema.int_or_string {
        return value.is_string() || value.is_i64() || value.is_u64();
    }
    match schema.kind {
        None => true,
        Some(Kind::Object) => value.is_object(),
        Some(Kind::Array) => value.is_array(),
        Some(Kind::String) => value.is_string(),
        Some(Kind::Integer) => value.is_i64() || value.is_u64(),
        Some(Kind::Number) => value.is_number(),
        Some(Kind::Boolean) => value.is_boolean(),
    }
}

fn mismatch(schema: &Schema, value: &Value, owner: &str, path: &[String]) -> String {
    let found = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        _ => "number",
    };
    let place: Vec<&str> = path.iter().map(String::as_str).filter(|part| !part.starts_with('[')).collect();
    let place = place.join(".");
    // Go names the struct type that holds the field: for a nested one, by convention, the kind and the field.
    let holder = match path {
        [first, _, ..] if first == "spec" || first == "status" => {
            let mut letters = first.chars();
            let capital: String =
                letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect();
            format!("{owner}{capital}")
        }
        _ => owner.to_owned(),
    };
    format!(
        "json: cannot unmarshal {found} into Go struct field {holder}.{place} of type {}",
        go_type(schema)
    )
}

fn go_type(schema: &Schema) -> String {
    match schema.kind {
        Some(Kind::String) if schema.validation.format.as_deref() == Some("byte") => "[]uint8".into(),
        Some(Kind::String) => "string".into(),
        Some(Kind::Boolean) => "bool".into(),
        Some(Kind::Integer) if schema.validation.format.as_deref() == Some("int32") => "int32".into(),
        Some(Kind::Integer) => "int64".into(),
        Some(Kind::Number) => "float64".into(),
        Some(Kind::Array) => format!("[]{}", schema.items.as_deref().map_or("string".into(), go_type)),
        _ => match schema.additional_properties.as_deref() {
            Some(values) => format!("map[string]{}", go_type(values)),
            None => "struct".into(),
        },
    }
}

/// `format` of the strings that Go decodes into other types.
fn check_format(format: Option<&str>, text: &str) -> Result<(), String> {
    match format {
        Some("date-time") => crate::go_time::check(text, "2006-01-02T15:04:05Z07:00"),
        Some("micro-time") => crate::go_time::check(text, "2006-01-02T15:04:05.000000Z07:00"),
        Some("byte") => crate::go_base64::check(text),
        _ => Ok(()),
    }
}
