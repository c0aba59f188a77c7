//! Helpers that read fields of an object and build field errors.

use crate::types::shown;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use serde_json::Value;

/// Returns the items of a list; an empty slice if there is none.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns a string; empty if there is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Returns the value at a path such as `spec.nodeName`; null if there is none.
pub(crate) fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(object, |value, step| &value[step])
}

/// Returns the text of the value at a path; empty if there is none.
pub(crate) fn shown_at(object: &Value, path: &str) -> String {
    match at(object, path) {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the text of a selectable field: what is shown, or the one in `zeros` of a field that shows nothing.
pub(crate) fn or_zero(shown: String, field: &str, zeros: &[(&str, &str)]) -> String {
    match zeros.iter().find(|(known, _)| *known == field) {
        Some((_, zero)) if shown.is_empty() => (*zero).to_owned(),
        _ => shown,
    }
}

/// Reports whether the object has an annotation.
pub(crate) fn annotated(object: &Value, key: &str) -> bool {
    meta::annotations(object).is_some_and(|annotations| annotations.contains_key(key))
}

/// Removes a field of the object at the JSON pointer `at`.
pub(crate) fn remove(object: &mut Value, at: &str, field: &str) {
    if let Some(holder) = object.pointer_mut(at).and_then(Value::as_object_mut) {
        holder.remove(field);
    }
}

/// Replaces an empty list at the JSON pointer `at` by null, as in the stored form of kube-apiserver.
pub(crate) fn empty_list_to_null(object: &mut Value, at: &str) {
    if let Some(list) = object.pointer_mut(at)
        && list.as_array().is_some_and(Vec::is_empty)
    {
        *list = Value::Null;
    }
}

/// Returns an `Invalid` error at `field` that contains `value`.
pub(crate) fn invalid(
    field: impl Into<String>,
    value: impl Into<Value>,
    detail: impl Into<String>,
) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, &value.into(), detail)
}

/// Returns a `Required` error for a missing field.
pub(crate) fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Required, field, detail)
}

/// Returns a `Forbidden` error for a field that must not be set.
pub(crate) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Forbidden, field, detail)
}

/// Returns an error that contains `value` in the form of the internal Go type `ty`.
pub(crate) fn internal(field: String, ty: &str, value: &Value, why: &str) -> FieldError {
    let mut error = invalid(field, Value::Null, why);
    error.value = Some(shown(ty, value));
    error
}
