//! Type check of a patched object, in place of the conversion to Go types.

use serde_json::Value;

use crate::apply::types::OBJECT_META;
use crate::go::go_type;
use crate::schema::{Kind, Schema};

/// Checks the types of `value`. The error is a message of Go's converter.
pub fn check(value: &Value, schema: &Schema, root: bool) -> Result<(), String> {
    if value.is_null() || schema.int_or_string || schema.preserve_unknown_fields {
        return Ok(());
    }
    let cannot_restore = |wanted: &str| Err(format!("cannot restore {wanted} from {}", go_kind(value)));
    // Go can convert between numbers, and from numbers to strings. The message for all other types is shorter.
    let unrecognized = |wanted: &str| Err(format!("unrecognized type: {wanted}"));
    let cannot_convert = |wanted: &str| Err(format!("cannot convert {} to {wanted}", go_type(value)));
    match (schema.kind, value) {
        (Some(Kind::Object), Value::Object(fields)) => {
            for (name, field) in fields {
                let below = if root && name == "metadata" { Some(&*OBJECT_META) } else { schema.child(name) };
                if let Some(below) = below {
                    check(field, below, false)?;
                }
            }
            Ok(())
        }
        (Some(Kind::Array), Value::Array(items)) => {
            let Some(below) = schema.items.as_deref() else { return Ok(()) };
            items.iter().try_for_each(|item| check(item, below, false))
        }
        (Some(Kind::Object), _) if schema.properties.is_empty() => cannot_restore("map"),
        (Some(Kind::Object), _) => Err(format!("cannot restore struct from: {}", go_kind(value))),
        (Some(Kind::Array), _) => cannot_restore("slice"),
        (Some(Kind::String), Value::String(text)) if is_bytes(schema) => {
            crate::go_base64::check(text).map_err(|problem| format!("error decoding from json: {problem}"))
        }
        (Some(Kind::String), _) if is_bytes(schema) => cannot_restore("slice"),
        (Some(Kind::String), Value::String(_))
        | (Some(Kind::Boolean), Value::Bool(_))
        | (Some(Kind::Integer | Kind::Number), Value::Number(_))
        | (None, _) => Ok(()),
        (Some(Kind::String), Value::Number(_)) => cannot_convert("string"),
        (Some(Kind::String), _) => unrecognized("string"),
        (Some(Kind::Boolean), _) => unrecognized("bool"),
        (Some(Kind::Integer), _) => unrecognized(match schema.validation.format.as_deref() {
            Some("int64") => "int64",
            _ => "int32",
        }),
        (Some(Kind::Number), _) => unrecognized("float64"),
    }
}

fn is_bytes(schema: &Schema) -> bool {
    schema.validation.format.as_deref() == Some("byte")
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_type(other),
    }
}
