//! Validation of the fields that a Scale is computed from.

use kinds::definition::{Scale, Version};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::go::{go_text, go_type};
use serde_json::Value;

use super::view::{at, steps};

/// Validates the replica counts and the selector.
pub(crate) fn validate(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = check_counts(object, &[&scale.spec_replicas_path, &scale.status_replicas_path]);
    errors.extend(check_selector(object, scale));
    errors
}

/// Validates the replica count in `status` and the selector.
pub(crate) fn validate_status(version: &Version, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = check_counts(object, &[&scale.status_replicas_path]);
    errors.extend(check_selector(object, scale));
    errors
}

/// Checks that the selector is a string.
fn check_selector(object: &Value, scale: &Scale) -> Option<FieldError> {
    let path = scale.label_selector_path.as_deref()?;
    if let Some(error) = blocked(object, path) {
        return Some(FieldError::new(FieldErrorKind::Invalid, path, &"".into(), error.detail));
    }
    let found = at(object, path).filter(|found| !found.is_string())?;
    let (text, go_type) = (go_text(found), go_type(found));
    let detail = format!("{path} accessor error: {text} is of the type {go_type}, expected string");
    Some(FieldError::new(FieldErrorKind::Invalid, path, &"".into(), detail))
}

/// Returns an error if a value on the way to `path` is not an object.
fn blocked(object: &Value, path: &str) -> Option<FieldError> {
    let (mut value, mut walked) = (object, String::new());
    for step in steps(path) {
        walked = format!("{walked}.{step}");
        match value {
            Value::Null => return None,
            Value::Object(map) => value = map.get(step)?,
            other => {
                let (found, go_type) = (go_text(other), go_type(other));
                let detail = format!(
                    "{walked} accessor error: {found} is of the type {go_type}, expected map[string]interface{{}}"
                );
                return Some(FieldError::new(FieldErrorKind::Invalid, path, &0.into(), detail));
            }
        }
    }
    None
}

fn check_counts(object: &Value, paths: &[&String]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for path in paths {
        if let Some(error) = blocked(object, path) {
            errors.push(error);
            continue;
        }
        let Some(found) = at(object, path) else { continue };
        let Some(replicas) = found.as_i64() else {
            let go_type = go_type(found);
            let found = go_text(found);
            let detail = format!("{path} accessor error: {found} is of the type {go_type}, expected int64");
            errors.push(FieldError::new(FieldErrorKind::Invalid, path.as_str(), &0.into(), detail));
            continue;
        };
        let detail = if replicas < 0 {
            "should be a non-negative integer".to_owned()
        } else if replicas > i64::from(i32::MAX) {
            format!("should be less than or equal to {}", i32::MAX)
        } else {
            continue;
        };
        errors.push(FieldError::new(FieldErrorKind::Invalid, path.as_str(), &replicas.into(), detail));
    }
    errors
}
