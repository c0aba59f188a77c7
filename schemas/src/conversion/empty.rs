//! Values against a schema: empty values that it does not allow or requires, and wrong types.

use machinery::schema::{Kind, Schema};
use serde_json::{Value, json};

/// Removes fields with an empty value (`""`, `0`, `[]`, `{}`) that the schema does not allow. In `v1beta1`, an empty
/// value often means that a field is not set; Go does not write it in `v1beta2`.
pub fn remove(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let Some(schema) = schema.child(name) else { return true };
            remove(schema, field);
            !is_refused(schema, field)
        }),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| remove(schema, item));
        }
        _ => {}
    }
}

fn is_refused(schema: &Schema, value: &Value) -> bool {
    let rules = &schema.validation;
    let at_least_one = |minimum: Option<u64>| minimum.is_some_and(|minimum| minimum > 0);
    match value {
        Value::String(text) if text.is_empty() => {
            at_least_one(rules.min_length) || rules.allowed.as_ref().is_some_and(|all| !all.contains(value))
        }
        Value::Array(items) if items.is_empty() => at_least_one(rules.min_items),
        Value::Object(fields) if fields.is_empty() => at_least_one(rules.min_properties),
        Value::Number(number) if number.as_f64() == Some(0.0) => {
            rules.minimum.is_some_and(|minimum| minimum > 0.0)
        }
        _ => false,
    }
}

/// Adds the fields that the schema requires and the object lacks, with the values that Go writes for fields that are not set.
pub fn require(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in &schema.validation.required {
                if let Some(empty) = schema.child(name).and_then(|schema| schema.kind).map(zero) {
                    fields.entry(name).or_insert(empty);
                }
            }
            for (name, field) in fields {
                if let Some(schema) = schema.child(name) {
                    require(schema, field);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| require(schema, item));
        }
        _ => {}
    }
}

fn zero(kind: Kind) -> Value {
    match kind {
        Kind::Object => json!({}),
        Kind::Array => json!([]),
        Kind::String => json!(""),
        Kind::Integer | Kind::Number => json!(0),
        Kind::Boolean => json!(false),
    }
}

/// Returns whether each value has the type that the schema says.
pub fn has_types(schema: &Schema, value: &Value) -> bool {
    let is_type = match schema.kind {
        None => true,
        _ if schema.preserve_unknown_fields => true,
        Some(Kind::Object) => value.is_object(),
        Some(Kind::Array) => value.is_array(),
        Some(Kind::String) => value.is_string(),
        Some(Kind::Integer) => value.is_i64() || value.is_u64(),
        Some(Kind::Number) => value.is_number(),
        Some(Kind::Boolean) => value.is_boolean(),
    };
    is_type
        && match value {
            Value::Object(fields) => fields
                .iter()
                .all(|(name, field)| schema.child(name).is_none_or(|schema| has_types(schema, field))),
            Value::Array(items) => {
                schema.items.as_ref().is_none_or(|schema| items.iter().all(|item| has_types(schema, item)))
            }
            _ => true,
        }
}
