//! Errors for patches that do not fit their object.

use serde_json::Value;

use crate::field::{FieldError, FieldErrorKind};
use crate::status::Status;

/// Returns the 422 for a patch whose result is not a valid object of its kind. `shown` is the patch or the object as
/// text.
pub fn invalid(shown: &str, detail: &str) -> Status {
    let error = FieldError::new(FieldErrorKind::Invalid, "patch", &shown.into(), detail);
    let mut status = Status::invalid("", "", "", &[error]);
    if let Some(Value::Object(details)) = &mut status.details {
        details.retain(|_, value| value != "");
    }
    status
}

pub(super) fn go_mismatch(value: &Value, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {wanted}", go_kind(value))
}

pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
