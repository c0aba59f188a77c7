//! Field errors with the messages of Kubernetes' `field.Error`.

use std::collections::HashSet;

use serde_json::Value;

use crate::limits::MAX_ALLOWED_TEXT;

/// The kinds of field errors, with the `reason` that each has in a `Status` cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A required value is missing.
    Required,
    /// The value is malformed.
    Invalid,
    /// The value has the wrong type.
    TypeInvalid,
    /// The value is not one of the allowed values.
    NotSupported,
    /// The value must be unique but occurs more than once.
    Duplicate,
    /// The field must not be set.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list or map has too many entries.
    TooMany,
    /// A referenced object or item does not exist.
    NotFound,
    /// The server failed during validation.
    InternalError,
}

impl FieldErrorKind {
    /// Returns the `reason` of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::InternalError => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::InternalError => "Internal error",
        }
    }
}

/// A field error: field, kind, value and detail.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The kind of the error.
    pub kind: FieldErrorKind,
    /// The path of the field, for example `spec.items[0].name`. It is empty for the whole object, which messages show
    /// as `<nil>`.
    pub field: String,
    /// The value in the form that the message shows (strings quoted), or `None` if the message shows no value.
    pub value: Option<String>,
    /// The expectation that the value does not meet.
    pub detail: String,
}

impl FieldError {
    /// Creates an error that shows the value: strings quoted, everything else as JSON.
    pub fn new(
        kind: FieldErrorKind,
        field: impl Into<String>,
        value: &Value,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, field: field.into(), value: Some(show(value)), detail: detail.into() }
    }

    /// Creates an error for a value that is not in `allowed`.
    pub fn not_supported(field: impl Into<String>, value: &Value, allowed: &[Value]) -> Self {
        let mut detail = "supported values: ".to_owned();
        for (index, value) in allowed.iter().enumerate() {
            detail.push_str(if index > 0 { ", " } else { "" });
            if detail.len() > MAX_ALLOWED_TEXT {
                detail.push_str(&format!("and {} more", allowed.len() - index));
                break;
            }
            detail.push_str(&value.as_str().map_or_else(|| quote(&value.to_string()), quote));
        }
        Self::new(FieldErrorKind::NotSupported, field, value, detail)
    }

    /// Creates an error without a value, for example `Required`, `Forbidden`, `TooLong` or `TooMany`.
    pub fn bare(kind: FieldErrorKind, field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { kind, field: field.into(), value: None, detail: detail.into() }
    }

    /// Returns the message without the field, as in a cause of a `Status`: `Invalid value: "x": detail`.
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(value);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

/// Formats a value for errors: strings quoted, floats as Go prints them, everything else as JSON.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => crate::go::show_number(number),
        other => other.to_string(),
    }
}

/// Quotes the text as Go's `%q` does.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = if self.field.is_empty() { "<nil>" } else { &self.field };
        write!(f, "{field}: {}", self.body())
    }
}

/// Joins errors like Go's `utilerrors.Aggregate`. Equal errors appear once.
pub fn aggregate(errors: &[String]) -> String {
    let mut seen = HashSet::new();
    let unique: Vec<&str> = errors.iter().map(String::as_str).filter(|text| seen.insert(*text)).collect();
    match unique.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}
