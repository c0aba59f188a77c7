//! Validation of strings, numbers and enumerations.

use serde_json::Value;

use super::run::{Fields, Outcome};
use super::types::known_format;
use crate::field::{FieldError, FieldErrorKind, quote};
use crate::go::go_float;
use crate::schema::number::{Numeric, range_problem};
use crate::schema::{Schema, Validation, formats};

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
    if let Some(format) = rules.format.as_deref()
        && formats::check(format, text) == Some(false)
    {
        let what = format!("must be of type {format}: {}", quote(text));
        outcome.errors.push(fields.error(FieldErrorKind::TypeInvalid, path, value, &what));
    }
    outcome.matches += 1;
    outcome
}

pub(super) fn number(
    fields: &Fields<'_>,
    schema: &Schema,
    number: Numeric,
    value: &Value,
    path: &str,
) -> Outcome {
    let rules = &schema.validation;
    let mut outcome = Outcome::default();
    if let Some(problem) = range_problem(number, schema.kind, known_format(rules), path) {
        outcome.errors.push(fields.plain(problem));
    }
    let show = |limit: f64| match number {
        Numeric::Int(_) => (limit as i64).to_string(),
        Numeric::Float(_) => go_float(limit),
    };
    if let (Some(step), Numeric::Int(_)) = (rules.multiple_of, number)
        && (step as i64) <= 0
    {
        let step = step as i64;
        let why = format!("factor MultipleOf declared for {path} must be positive: {step}");
        let error = FieldError::new(FieldErrorKind::Invalid, fields.name(path), &step.into(), why);
        outcome.errors.push(error);
    } else if let Some(step) = rules.multiple_of
        && !is_multiple(number, step)
    {
        let why = format!("should be a multiple of {}", show(step));
        outcome.errors.push(fields.error(FieldErrorKind::Invalid, path, value, &why));
    }
    let mut report = |what: String| {
        outcome.errors.push(fields.error(FieldErrorKind::Invalid, path, value, &what));
    };
    let beyond = |limit: f64, exclusive: bool, wanted: std::cmp::Ordering| {
        let order = match number {
            Numeric::Int(int) => Some(int.cmp(&(limit as i64))),
            Numeric::Float(float) => float.partial_cmp(&limit),
        };
        order == Some(wanted) || (exclusive && order == Some(std::cmp::Ordering::Equal))
    };
    if let Some(max) = rules.maximum
        && beyond(max, rules.exclusive_maximum, std::cmp::Ordering::Greater)
    {
        let words = if rules.exclusive_maximum { "less than" } else { "less than or equal to" };
        report(format!("should be {words} {}", show(max)));
    }
    if let Some(min) = rules.minimum
        && beyond(min, rules.exclusive_minimum, std::cmp::Ordering::Less)
    {
        let words = if rules.exclusive_minimum { "greater than" } else { "greater than or equal to" };
        report(format!("should be {words} {}", show(min)));
    }
    outcome.matches += 1;
    outcome
}

pub(super) fn allowed(fields: &Fields<'_>, rules: &Validation, value: &Value, path: &str) -> Outcome {
    let Some(allowed) = rules.allowed.as_deref().filter(|allowed| !allowed.is_empty()) else {
        return Outcome::default();
    };
    if !value.is_null() && rules.enumerated.contains(allowed, value) {
        return Outcome::default();
    }
    Outcome::one(FieldError::not_supported(fields.name(path), value, allowed))
}

fn is_multiple(number: Numeric, step: f64) -> bool {
    match number {
        // Whole numbers are divided by the whole part of the step.
        Numeric::Int(int) => step as i64 > 0 && int % (step as i64) == 0,
        Numeric::Float(float) if step < 1.0 => is_integer(1.0 / step * float),
        Numeric::Float(float) => is_integer(float / step),
    }
}

/// Returns whether a quotient is a whole number, within the precision of floats.
fn is_integer(quotient: f64) -> bool {
    const NEAR: f64 = 1e-9;
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !quotient.is_finite() || quotient.abs() > LARGEST {
        return false;
    }
    let whole = quotient.trunc();
    let apart = (quotient - whole).abs();
    apart == 0.0 || (whole != 0.0 && apart / (quotient.abs() + whole.abs()) < NEAR)
}
