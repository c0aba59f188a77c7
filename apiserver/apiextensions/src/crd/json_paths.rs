//! Validation of JSON paths into objects: columns, the subresource `scale`, and selectable fields.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::schema::{Kind, Schema, field_path};
use serde_json::Value;

use super::errors::{invalid, required};
use super::read::text;

fn simple_path(path: &str, field: &str) -> Option<FieldError> {
    if path.is_empty() {
        Some(invalid(field, &path.into(), "must not be empty"))
    } else if !path.starts_with('.') {
        Some(invalid(field, &path.into(), "must be a simple json path starting with ."))
    } else {
        None
    }
}

pub(super) fn subresources(value: &Value, path: &str) -> Vec<FieldError> {
    let Some(scale) = value.get("scale").filter(|scale| scale.is_object()) else { return Vec::new() };
    let mut errors = Vec::new();
    let mut check = |key: &str, roots: &[&str], words: &str, optional: bool| {
        let field = format!("{path}.scale.{key}");
        let found = scale.get(key).and_then(Value::as_str).unwrap_or_default();
        if found.is_empty() {
            if !optional {
                errors.push(required(field, ""));
            }
        } else if let Some(error) = simple_path(found, &field) {
            errors.push(error);
        } else if !roots.iter().any(|root| found.starts_with(root)) {
            errors.push(invalid(field, &found.into(), format!("should be a json path under {words}")));
        }
    };
    check("specReplicasPath", &[".spec."], ".spec", false);
    check("statusReplicasPath", &[".status."], ".status", false);
    check("labelSelectorPath", &[".spec.", ".status."], "either .spec or .status", true);
    errors
}

pub(super) fn column(column: &Value, path: &str) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut errors = Vec::new();
    if text(column, "/name").is_empty() {
        errors.push(required(format!("{path}.name"), ""));
    }
    let types = format!("must be one of {}", TYPES.join(","));
    match text(column, "/type") {
        "" => errors.push(required(format!("{path}.type"), types)),
        kind if !TYPES.contains(&kind) => errors.push(invalid(format!("{path}.type"), &kind.into(), types)),
        _ => {}
    }
    let format = text(column, "/format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let detail = format!("must be one of {}", FORMATS.join(","));
        errors.push(invalid(format!("{path}.format"), &format.into(), detail));
    }
    let field = format!("{path}.JSONPath");
    match text(column, "/jsonPath") {
        "" => errors.push(required(field, "")),
        json_path => errors.extend(simple_path(json_path, &field)),
    }
    errors
}

/// Maximum number of selectable fields.
const MAX_SELECTABLE_FIELDS: usize = 8;

pub(super) fn selectable_fields(value: &Value, version: &Value, path: &str) -> Vec<FieldError> {
    let fields = value.as_array().map_or(&[][..], Vec::as_slice);
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    let schema = version.pointer("/schema/openAPIV3Schema").and_then(|source| Schema::parse(source).ok());
    for (i, field) in fields.iter().enumerate() {
        let at = format!("{path}[{i}].jsonPath");
        let json_path = text(field, "/jsonPath");
        if json_path.is_empty() {
            errors.push(required(at, ""));
            continue;
        }
        let Some(schema) = &schema else { continue };
        let (found, schema) = match field_path::find(schema, json_path, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(invalid(at, &json_path.into(), format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.split(['.', '[']).next() == Some("metadata") {
            errors.push(invalid(at.clone(), &json_path.into(), "must not point to fields in metadata"));
        }
        if !matches!(schema.kind, Some(Kind::String | Kind::Boolean | Kind::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(invalid(at.clone(), &json_path.into(), why));
        }
        if !seen.insert(found) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, at, &json_path.into(), ""));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        let detail = format!("must have at most {MAX_SELECTABLE_FIELDS} items");
        errors.push(FieldError::new(FieldErrorKind::TooMany, path, &seen.len().into(), detail));
    }
    errors
}
