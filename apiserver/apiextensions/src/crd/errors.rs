//! Constructors of field errors.

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: impl Into<String>) -> FieldError {
    FieldError::new(FieldErrorKind::Invalid, field, value, detail)
}

pub(super) fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Required, field, detail)
}

pub(super) fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Forbidden, field, detail)
}

pub(super) fn unsupported(field: impl Into<String>, value: &Value, allowed: &[&str]) -> FieldError {
    let allowed: Vec<Value> = allowed.iter().map(|text| Value::from(*text)).collect();
    FieldError::not_supported(field, value, &allowed)
}
