//! Validation of the JSON types of values.

use serde_json::Value;

use super::run::{Fields, Outcome};
use crate::field::FieldErrorKind;
use crate::schema::number::Numeric;
use crate::schema::{Kind, Schema, Validation};

pub(super) fn kind(fields: &Fields<'_>, schema: &Schema, value: &Value, path: &str) -> Outcome {
    let format = known_format(&schema.validation);
    let expected = expected_types(schema);
    if expected.is_empty() && format.is_empty() {
        return Outcome::default();
    }
    let fails = |found: &str| {
        let what = format!("must be of type {}: \"{found}\"", expected.join(","));
        Outcome::one(fields.error(FieldErrorKind::TypeInvalid, path, &found.into(), &what))
    };
    if value.is_null() {
        return if expected.is_empty() || schema.nullable { Outcome::default() } else { fails("null") };
    }
    let numeric = expected.contains(&"number") || expected.contains(&"integer");
    let unformatted = format.is_empty() || value.is_string() || value.is_array();
    if !unformatted && !fits_type(expected, value) {
        // With a format, kube-apiserver names the Go types, for example `int32` and `float64`.
        let found = format_of(value);
        let what = format!("must be of type {format}: \"{found}\"");
        return Outcome::one(fields.error(FieldErrorKind::TypeInvalid, path, &found.into(), &what));
    }
    if !numeric && !format.is_empty() && (value.is_string() || value.is_array()) {
        return Outcome { errors: Vec::new(), matches: 1 };
    }
    if fits_type(expected, value) {
        Outcome { errors: Vec::new(), matches: 2 }
    } else {
        fails(type_of(value))
    }
}

/// Returns the format if the server knows it, otherwise an empty text.
pub(super) fn known_format(rules: &Validation) -> &str {
    rules.format.as_deref().filter(|_| rules.known_format).unwrap_or_default()
}

fn expected_types(schema: &Schema) -> &'static [&'static str] {
    match schema.kind {
        _ if schema.int_or_string => &["integer", "string"],
        Some(Kind::Object) => &["object"],
        Some(Kind::Array) => &["array"],
        Some(Kind::String) => &["string"],
        Some(Kind::Integer) => &["integer"],
        Some(Kind::Number) => &["number"],
        Some(Kind::Boolean) => &["boolean"],
        None => &[],
    }
}

fn fits_type(expected: &[&str], value: &Value) -> bool {
    let found = type_of(value);
    expected.contains(&found)
        || (found == "integer" && expected.contains(&"number"))
        || (found == "number"
            && expected.contains(&"integer")
            && value.as_number().is_some_and(|number| Numeric::of(number).is_whole()))
}

fn format_of(value: &Value) -> &'static str {
    match type_of(value) {
        "integer" => "int64",
        "number" => "float64",
        _ => "",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_i64().is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
