//! Gives objects the structure of their types, as Go's decoder does.

use std::sync::LazyLock;

use crate::types::{GoPlace, LazySchema};
use machinery::decode::Problems;
use machinery::schema::{Kind, Presence, Schema};
use serde_json::Value;

use super::empty::empty;
use super::time;
use crate::definition::{Definition, Version};

/// Checks types, removes unknown fields and returns their paths, and removes values that Go's `omitempty` would omit.
///
/// # Errors
/// The message of Go's decoder about the first value of a wrong type.
pub fn decode(definition: &Definition, version: &Version, object: &mut Value) -> Result<Vec<String>, String> {
    let mut walk = Walk { unknown: Problems::default(), root: Root::new(definition, &version.name) };
    let mut path = Vec::new();
    walk.object(&version.schema, object, &mut path)?;
    Ok(walk.unknown.into_paths())
}

/// Checks the types of a `DeleteOptions`.
///
/// # Errors
/// The message of Go's decoder about the first value of a wrong type.
pub fn check_delete_options(options: &mut Value) -> Result<(), String> {
    const NAME: &str = "meta.v1.DeleteOptions";
    static SCHEMA: LazyLock<LazySchema> = LazyLock::new(|| LazySchema::new(NAME.to_owned()));
    let root = Root { kind: "DeleteOptions".to_owned(), type_name: NAME.to_owned() };
    let mut walk = Walk { unknown: Problems::default(), root };
    walk.object(SCHEMA.get(), options, &mut Vec::new())
}

/// Decodes `value` as the type `type_name`: checks types and removes unknown fields.
///
/// # Errors
/// The message of Go's decoder about the first value of a wrong type.
pub(crate) fn read(type_name: &str, value: &mut Value) -> Result<(), String> {
    let schema = LazySchema::new(type_name.to_owned());
    let root = Root { kind: type_name.to_owned(), type_name: type_name.to_owned() };
    let mut walk = Walk { unknown: Problems::default(), root };
    walk.value(schema.get(), value, &mut Vec::new())
}

/// Like [`read`], for a list of values.
///
/// # Errors
/// The errors of [`read`], and if `list` is not a list.
pub(crate) fn read_list(type_name: &str, list: Value) -> Result<Vec<Value>, String> {
    let Value::Array(mut list) = list else { return Err("no list".to_owned()) };
    for value in &mut list {
        if value.is_null() {
            *value = Value::Object(serde_json::Map::new());
        }
        read(type_name, value)?;
    }
    Ok(list)
}

struct Walk {
    unknown: Problems,
    root: Root,
}

impl Walk {
    fn object(&mut self, schema: &Schema, object: &mut Value, path: &mut Vec<String>) -> Result<(), String> {
        let Some(map) = object.as_object_mut() else { return Ok(()) };
        let keys: Vec<String> = map.keys().cloned().collect();
        for key in keys {
            let root = path.is_empty();
            if root && matches!(key.as_str(), "apiVersion" | "kind") {
                continue;
            }
            let metadata;
            let child = if root && key == "metadata" {
                metadata = crate::metadata::schema();
                Some(metadata)
            } else {
                schema.child(&key)
            };
            let known = schema.properties.contains_key(&key) || (root && key == "metadata");
            // Keys of maps are put in brackets like indices, because Go's messages do not name them.
            path.push(if known || child.is_none() { key.clone() } else { format!("[{key}]") });
            match (child, map.get_mut(&key)) {
                // Go reads null as the zero value. In a map of strings this is the empty string.
                (Some(child), Some(value))
                    if value.is_null() && !known && child.kind == Some(Kind::String) =>
                {
                    *value = "".into();
                }
                (Some(child), Some(value)) => {
                    self.value(child, value, path)?;
                    if known && left_out(child, &key, value) {
                        map.remove(&key);
                    }
                }
                _ if schema.preserve_unknown_fields => {}
                _ => {
                    self.unknown.note(|| path.join(".").replace(".[", "["));
                    map.remove(&key);
                }
            }
            path.pop();
        }
        Ok(())
    }

    fn value(&mut self, schema: &Schema, value: &mut Value, path: &mut Vec<String>) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        if is_quantity(schema) && (value.is_number() || value.is_string()) {
            return quantity(value);
        }
        if !fits(schema, value) {
            return Err(mismatch(schema, value, &self.root, path));
        }
        match value {
            Value::Object(_) => self.object(schema, value, path),
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return Ok(()) };
                for (index, item) in list.iter_mut().enumerate() {
                    if item.is_null() {
                        *item = zero(items);
                    }
                    path.push(format!("[{index}]"));
                    self.value(items, item, path)?;
                    path.pop();
                }
                Ok(())
            }
            Value::String(text) => {
                let format = schema.validation.format.as_deref();
                check_format(format, text)?;
                if let Some("date-time" | "micro-time") = format {
                    time::canonical(text, format == Some("micro-time"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns the value that Go stores for a null item of a list.
fn zero(schema: &Schema) -> Value {
    match schema.kind {
        Some(Kind::String) => "".into(),
        Some(Kind::Object) => Value::Object(serde_json::Map::new()),
        Some(Kind::Integer | Kind::Number) => 0.into(),
        Some(Kind::Boolean) => false.into(),
        _ => Value::Null,
    }
}

/// Returns whether Go omits the value when it writes the object.
fn left_out(schema: &Schema, key: &str, value: &Value) -> bool {
    match schema.presence {
        Some(Presence::NotZero) => empty(value) || value == false || value.as_i64() == Some(0),
        Some(Presence::NotNil) => value.is_null(),
        Some(_) => false,
        None => {
            empty(value)
                && !(schema.nullable && (value.is_null() || value.is_array()))
                && !schema.preserve_unknown_fields
                // For a pointer in Go, the empty value is kept. `minLength: 0` or `minProperties: 0` marks such fields.
                && !(value == "" && schema.validation.min_length == Some(0))
                && !(value.is_object() && schema.validation.min_properties == Some(0))
                // An empty list of `managedFields` resets field ownership.
                && !(key == "managedFields" && value.is_array())
        }
    }
}

/// Replaces a quantity with its canonical form. Numbers are quantities, too.
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
        return value.is_string() || value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
    }
    match schema.kind {
        None => true,
        Some(Kind::Object) => value.is_object(),
        Some(Kind::Array) => value.is_array(),
        Some(Kind::String) => value.is_string(),
        Some(Kind::Integer) if schema.validation.format.as_deref() == Some("int32") => {
            value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
        }
        Some(Kind::Integer) => value.is_i64(),
        Some(Kind::Number) => value.is_number(),
        Some(Kind::Boolean) => value.is_boolean(),
    }
}

fn found(schema: &Schema, value: &Value) -> String {
    match value {
        Value::Object(_) => "object".into(),
        Value::Array(_) => "array".into(),
        Value::String(_) => "string".into(),
        Value::Bool(_) => "bool".into(),
        // For numbers that are too large or not integers, Go shows the number.
        _ if matches!(schema.kind, Some(Kind::Integer | Kind::Number)) || schema.int_or_string => {
            format!("number {value}")
        }
        _ => "number".into(),
    }
}

fn mismatch(schema: &Schema, value: &Value, root: &Root, path: &[String]) -> String {
    let found = found(schema, value);
    let GoPlace { holder, names, go_type } = root.place(path);
    // These types have decoders of their own in Go, which decode a simpler type first and report that one.
    let go_type = match schema.validation.format.as_deref() {
        Some("date-time" | "micro-time") => "string",
        _ if schema.int_or_string => "int32",
        _ => &go_type,
    };
    format!("json: cannot unmarshal {found} into Go struct field {holder}.{names} of type {go_type}")
}

/// The type that is being decoded, for error messages.
struct Root {
    kind: String,
    type_name: String,
}

impl Root {
    fn new(definition: &Definition, version: &str) -> Self {
        let type_name = crate::types::name_of(&definition.group, version, &definition.kind);
        Self { kind: definition.kind.clone(), type_name }
    }

    fn place(&self, path: &[String]) -> GoPlace {
        let metadata = || match path {
            [metadata, rest @ ..] if !rest.is_empty() => {
                let place = crate::types::go_place("meta.v1.ObjectMeta", rest)?;
                Some(GoPlace { names: format!("{metadata}.{}", place.names), ..place })
            }
            _ => None,
        };
        crate::types::go_place(&self.type_name, path).or_else(metadata).unwrap_or_else(|| GoPlace {
            holder: self.kind.clone(),
            names: path.join("."),
            go_type: "v1.ObjectMeta".into(),
        })
    }
}

/// Checks a string by the `format` of strings that Go decodes into other types.
fn check_format(format: Option<&str>, text: &str) -> Result<(), String> {
    match format {
        Some("date-time") => time::check(text, "2006-01-02T15:04:05Z07:00"),
        Some("micro-time") => time::check(text, "2006-01-02T15:04:05.000000Z07:00"),
        Some("byte") => machinery::go_base64::check(text),
        _ => Ok(()),
    }
}
