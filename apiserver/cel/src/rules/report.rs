//! Errors for rules that an object violates.

use machinery::field::{FieldError, FieldErrorKind};
use machinery::schema::{Kind, Rule, Schema};
use serde_json::Value;

use crate::check::Compiled;

pub(super) fn violation(
    schema: &Schema,
    rule: &Rule,
    program: &Compiled,
    new: &Value,
    path: &str,
    detail: String,
) -> FieldError {
    let kind = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
        Some("FieldValueRequired") => FieldErrorKind::Required,
        Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
        _ => FieldErrorKind::Invalid,
    };
    let field = match (&program.field_path, path) {
        (Some(field), "") => field.clone(),
        (Some(field), path) => format!("{path}.{field}"),
        (None, path) => path.to_owned(),
    };
    // Errors do not show objects and lists, which can be large.
    let composite = matches!(schema.kind, Some(Kind::Object | Kind::Array));
    let valued = matches!(kind, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
    match (valued, kind) {
        (false, _) => FieldError::bare(kind, field, detail),
        // The error `Duplicate value` has no place for a message.
        (true, FieldErrorKind::Duplicate) if composite => FieldError::bare(kind, field, ""),
        (true, FieldErrorKind::Duplicate) => FieldError::new(kind, field, new, ""),
        _ if composite => FieldError::bare(kind, field, detail),
        _ => FieldError::new(kind, field, new, detail),
    }
}

/// Returns an error that shows the type instead of the value.
pub(super) fn invalid_type(schema: &Schema, path: &str, detail: String) -> FieldError {
    let kind = match schema.kind {
        Some(Kind::Object) => "object",
        Some(Kind::Array) => "array",
        Some(Kind::String) => "string",
        Some(Kind::Integer) => "integer",
        Some(Kind::Number) => "number",
        Some(Kind::Boolean) => "boolean",
        None => "",
    };
    FieldError::new(FieldErrorKind::Invalid, path, &kind.into(), detail)
}
