//! The walk over an object and its schema, and the logical junctors.

use serde_json::Value;

use super::run::{Outcome, Run};
use super::{containers, numbers, scalars, types};
use crate::field::FieldError;
use crate::schema::correlate::unchanged;
use crate::schema::number::Numeric;
use crate::schema::{Schema, Validation};

/// Validates types and values only.
pub fn validate_values(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    values(&Run::new(""), schema, new, old)
}

/// Validates types and values of a part of an object. `path` is prepended to the fields of errors.
pub fn validate_part(schema: &Schema, path: &str, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    values(&Run::new(path), schema, value, old)
}

const TOO_MUCH: &str =
    "the alternatives of the schema (allOf, anyOf, oneOf, not) take too long for an object of this size";

fn values(run: &Run<'_>, schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let errors = node(run, schema, new, old, &mut String::new()).errors;
    // A value that exceeds the limit is neither valid nor invalid, so other errors do not count.
    if run.pay(0) { errors } else { vec![run.fields().plain(TOO_MUCH.to_owned())] }
}

pub(super) fn node(
    run: &Run<'_>,
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    path: &mut String,
) -> Outcome {
    if old.is_some_and(|old| unchanged(schema, old, value)) {
        return Outcome { errors: Vec::new(), matches: 1 };
    }
    if !run.pay(value.as_str().map_or(0, str::len)) {
        return Outcome::one(run.fields().plain(TOO_MUCH.to_owned()));
    }
    let mut outcome = Outcome::default();
    let typed = types::kind(run.fields(), schema, value, path);
    if value.is_null() {
        outcome.merge(typed);
        outcome.merge(scalars::allowed(run.fields(), &schema.validation, value, path));
        return outcome;
    }
    outcome.merge(typed);
    outcome.merge(junctors(run, &schema.validation, value, path));
    match value {
        Value::String(text) => {
            outcome.merge(scalars::text(run.fields(), &schema.validation, text, value, path));
        }
        Value::Number(number) => {
            outcome.merge(numbers::number(run.fields(), schema, Numeric::of(number), value, path));
        }
        Value::Array(list) => outcome.merge(containers::list(run, schema, list, old, path)),
        _ => {}
    }
    outcome.merge(scalars::allowed(run.fields(), &schema.validation, value, path));
    if let Value::Object(map) = value {
        outcome.merge(containers::object(run, schema, map, old, path));
    }
    outcome.matches += 1;
    outcome
}

fn junctors(run: &Run<'_>, rules: &Validation, value: &Value, path: &mut String) -> Outcome {
    let mut outcome = Outcome::default();
    if !rules.any_of.is_empty() {
        let (valid, shown) = alternatives(run, &rules.any_of, value, path, true);
        if valid == 0 {
            let what = format!("\"{path}\" must validate at least one schema (anyOf)");
            outcome.errors.push(run.fields().plain(what));
        }
        outcome.merge(shown);
    }
    if !rules.one_of.is_empty() {
        let (valid, shown) = alternatives(run, &rules.one_of, value, path, false);
        let found = match valid {
            0 => "Found none valid".to_owned(),
            many => format!("Found {many} valid alternatives"),
        };
        if valid != 1 {
            let what = format!("\"{path}\" must validate one and only one schema (oneOf). {found}");
            outcome.errors.push(run.fields().plain(what));
        }
        if valid < 2 {
            outcome.merge(shown);
        }
    }
    let mut all_valid = true;
    for schema in &rules.all_of {
        let result = node(run, schema, value, None, path);
        all_valid &= result.errors.is_empty();
        outcome.merge(result);
    }
    if !all_valid {
        outcome.errors.push(run.fields().plain(format!("\"{path}\" must validate all the schemas (allOf)")));
    }
    if let Some(not) = &rules.not
        && node(run, not, value, None, path).errors.is_empty()
    {
        outcome.errors.push(run.fields().plain(format!("\"{path}\" must not validate the schema (not)")));
    }
    outcome.matches += 1;
    outcome
}

/// Returns the number of valid alternatives and the outcome to report: that of the first valid one, or of the
/// failed one with the most successful checks.
fn alternatives(
    run: &Run<'_>,
    schemas: &[Schema],
    value: &Value,
    path: &mut String,
    stop: bool,
) -> (usize, Outcome) {
    let mut valid = 0;
    let mut success: Option<Outcome> = None;
    let mut failure: Option<Outcome> = None;
    for schema in schemas {
        let result = node(run, schema, value, None, path);
        if result.errors.is_empty() {
            valid += 1;
            success.get_or_insert(result);
            if stop {
                break;
            }
        } else if failure.as_ref().is_none_or(|best| result.matches > best.matches) {
            failure = Some(result);
        }
    }
    (valid, success.or(failure).unwrap_or_default())
}
