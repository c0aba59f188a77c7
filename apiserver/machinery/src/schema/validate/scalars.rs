//! Validation of strings and enumerations.

use serde_json::Value;

use super::run::{Fields, Outcome};
use super::types::known_format;
use crate::field::{FieldError, FieldErrorKind, quote};
use crate::schema::number::Numeric;
use crate::schema::{Validation, formats};

pub(super) fn text(
    fields: &Fields<'_>,
    rules: &Validation,
    text: &str,
    value: &Value,
    path: &str,
) -> Outcome {
    let mut outcome = Outcome::default();
    // Only the first of these three errors is reported.
    let length = || text.chars().count() as u64;
    if let Some(max) = rules.max_length.filter(|max| text.len() as u64 > *max && length() > *max) {
        let detail = format!("may not be more than {max} bytes");
        outcome.errors.push(FieldError::bare(FieldErrorKind::TooLong, fields.name(path), detail));
    } else if let Some(min) = rules.min_length.filter(|min| length() < *min) {
        let what = format!("should be at least {min} chars long");
        outcome.errors.push(fields.error(FieldErrorKind::Invalid, path, value, &what));
    } else if let Some(pattern) = &rules.pattern
        && !rules.matcher.is_match(pattern, text)
    {
        let what = format!("should match '{pattern}'");
        outcome.errors.push(fields.error(FieldErrorKind::Invalid, path, value, &what));
    }
    let format = known_format(rules);
    if formats::check(format, text) == Some(false) {
        let what = format!("must be of type {format}: {}", quote(text));
        outcome.errors.push(fields.error(FieldErrorKind::TypeInvalid, path, value, &what));
    }
    outcome.matches += 1;
    outcome
}

pub(super) fn allowed(fields: &Fields<'_>, rules: &Validation, value: &Value, path: &str) -> Outcome {
    let Some(allowed) = rules.allowed.as_deref().filter(|allowed| !allowed.is_empty()) else {
        return Outcome::default();
    };
    let is_converted = || match value {
        Value::Number(number) => allowed.iter().any(|candidate| converts_to(Numeric::of(number), candidate)),
        _ => false,
    };
    if !value.is_null() && (rules.enumerated.contains(allowed, value) || is_converted()) {
        return Outcome::default();
    }
    Outcome::one(FieldError::not_supported(fields.name(path), value, allowed))
}

/// Returns whether a number is the allowed one after the conversion to its Go type, which cuts a fraction off.
fn converts_to(number: Numeric, allowed: &Value) -> bool {
    let Value::Number(allowed) = allowed else { return false };
    match (number, Numeric::of(allowed)) {
        (Numeric::Float(found), Numeric::Int(allowed)) => found as i64 == allowed,
        (Numeric::Int(found), Numeric::Float(allowed)) => found as f64 == allowed,
        _ => false,
    }
}
