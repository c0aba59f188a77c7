//! Validation of `apiVersion`, `kind` and `metadata` of embedded resources.

use serde_json::{Map, Value};

use super::Schema;
use super::prune::META_FIELDS;
use crate::field::{FieldError, FieldErrorKind};
use crate::names;

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
