//! Helpers that read fields of an object and build field errors.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::types::shown;
use serde_json::Value;

/// The items of a list; none where there is no list.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A text; empty where there is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Whether the object has the annotation.
pub(crate) fn annotated(object: &Value, key: &str) -> bool {
    meta::annotations(object).is_some_and(|annotations| annotations.contains_key(key))
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
