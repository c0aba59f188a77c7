//! Validation of an object against a schema, with the order and messages of kube-apiserver
//! (`kube-openapi/pkg/validation/validate`). Validation ratchets: errors in values that an update left unchanged are
//! not reported again.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::Value;

use super::correlate::{OldItems, unchanged};
use super::number::{Numeric, go_float, range_problem};
use super::{Kind, Schema, Validation, formats, validate_embedded, validate_lists};
use crate::cel::Known;
use crate::field::{FieldError, FieldErrorKind};
use crate::limits::{MAX_FIELD_ERRORS, MAX_VALIDATION_WORK};

/// Validates a custom resource except its `metadata`: types and values, embedded resources, sets and maps, and CEL
/// rules. `old` is the object before an update.
///
/// `errors` are the errors found so far, in `metadata`. Some kinds of errors prevent the evaluation of the rules.
pub fn validate(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
    known: Known,
) -> Vec<FieldError> {
    errors.extend(validate_values(schema, new, old));
    validate_beyond_values(schema, new, old, errors, known)
}

/// Validates like [`validate`], but without types and values, as for an object whose `kind` is not that of its
/// resource.
pub fn validate_beyond_values(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
    known: Known,
) -> Vec<FieldError> {
    errors.extend(validate_embedded(schema, new));
    errors.extend(list_errors(schema, new, old));
    errors.extend(rules(schema, new, old, &errors, known));
    errors
}

/// Validates a write to `/status`, where only `status` is relevant.
pub fn validate_status(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    mut errors: Vec<FieldError>,
    known: Known,
) -> Vec<FieldError> {
    let (Some(status_schema), Some(status)) = (schema.properties.get("status"), new.get("status")) else {
        return errors;
    };
    let old_status = old.and_then(|old| old.get("status"));
    errors.extend(Run::new("status").values(status_schema, status, old_status));
    errors.extend(list_errors(schema, new, old));
    errors.extend(rules(schema, new, old, &errors, Known { status_only: true, ..known }));
    errors
}

/// Validates lists. An update of an object with invalid lists may leave lists invalid.
fn list_errors(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let errors = validate_lists(schema, new);
    let before = || old.is_some_and(|old| !validate_lists(schema, old).is_empty());
    if errors.is_empty() || before() { Vec::new() } else { errors }
}

/// Validates types and values only.
pub fn validate_values(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    Run::new("").values(schema, new, old)
}

/// Validates types and values of a part of an object. `path` is prepended to the fields of errors.
pub fn validate_part(schema: &Schema, path: &str, value: &Value) -> Vec<FieldError> {
    Run::new(path).values(schema, value, None)
}

/// Returns whether the errors prevent the evaluation of the rules, which could fail because of them.
pub fn rules_blocked(errors: &[FieldError]) -> bool {
    errors.iter().any(|error| {
        matches!(
            error.kind,
            FieldErrorKind::NotSupported
                | FieldErrorKind::Required
                | FieldErrorKind::TooLong
                | FieldErrorKind::TooMany
                | FieldErrorKind::TypeInvalid
        )
    })
}

fn rules(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    errors: &[FieldError],
    known: Known,
) -> Vec<FieldError> {
    if !schema.has_rules {
        return Vec::new();
    }
    if rules_blocked(errors) {
        let detail = "some validation rules were not checked because the object was invalid; correct the \
                      existing errors to complete validation";
        return vec![FieldError::new(FieldErrorKind::Invalid, "", &Value::Null, detail)];
    }
    crate::cel::validate(schema, new, old, known)
}

const TOO_MUCH: &str =
    "the alternatives of the schema (allOf, anyOf, oneOf, not) take too long with so large an object";

/// Errors, and the number of successful checks. If all alternatives fail, the errors of the one with the most successes
/// are reported.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    matches: usize,
}

impl Outcome {
    fn merge(&mut self, other: Outcome) {
        let room = MAX_FIELD_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.into_iter().take(room));
        self.matches += other.matches;
    }

    fn is_full(&self) -> bool {
        self.errors.len() >= MAX_FIELD_ERRORS
    }

    fn one(error: FieldError) -> Self {
        Self { errors: vec![error], matches: 0 }
    }
}

struct Run<'a> {
    /// The path that is prepended to the fields of errors, but not to the paths in messages.
    prefix: &'a str,
    /// The work done, in values and text. Each alternative of a schema walks the whole value again.
    work: Cell<u64>,
}

impl<'a> Run<'a> {
    fn new(prefix: &'a str) -> Self {
        Self { prefix, work: Cell::new(0) }
    }

    /// Counts a value of `bytes` bytes. Returns false if the work exceeds its limit.
    fn pay(&self, bytes: usize) -> bool {
        self.work.set(self.work.get() + 1 + bytes as u64 / 8);
        self.work.get() <= MAX_VALIDATION_WORK
    }

    fn values(&self, schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let errors = self.node(schema, new, old, &mut String::new()).errors;
        // A value that exceeds the limit is neither valid nor invalid, so other errors do not count.
        if self.pay(0) { errors } else { vec![self.plain(TOO_MUCH.to_owned())] }
    }

    fn field(&self, path: &str) -> String {
        match (self.prefix, path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{}", path.trim_start_matches('.')),
        }
    }

    /// Returns an error whose message begins with the field's name.
    fn error(&self, kind: FieldErrorKind, path: &str, value: &Value, what: &str) -> FieldError {
        FieldError::new(kind, self.field(path), value, format!("{path} in body {what}"))
    }

    /// Returns an error that belongs to no field.
    fn plain(&self, what: String) -> FieldError {
        FieldError::new(FieldErrorKind::Invalid, self.prefix, &"".into(), what)
    }

    fn node(&self, schema: &Schema, value: &Value, old: Option<&Value>, path: &mut String) -> Outcome {
        if old.is_some_and(|old| unchanged(schema, old, value)) {
            return Outcome { errors: Vec::new(), matches: 1 };
        }
        if !self.pay(value.as_str().map_or(0, str::len)) {
            return Outcome::one(self.plain(TOO_MUCH.to_owned()));
        }
        let mut outcome = Outcome::default();
        let typed = self.kind(schema, value, path);
        if value.is_null() {
            outcome.merge(typed);
            outcome.merge(self.allowed(&schema.validation, value, path));
            return outcome;
        }
        outcome.merge(typed);
        outcome.merge(self.junctors(&schema.validation, value, path));
        match value {
            Value::String(text) => {
                outcome.merge(self.text(&schema.validation, text, value, path));
            }
            Value::Number(number) => {
                outcome.merge(self.number(schema, Numeric::of(number), value, path));
            }
            Value::Array(list) => outcome.merge(self.list(schema, list, old, path)),
            _ => {}
        }
        outcome.merge(self.allowed(&schema.validation, value, path));
        if let Value::Object(map) = value {
            outcome.merge(self.object(schema, map, old, path));
        }
        outcome.matches += 1;
        outcome
    }

    fn kind(&self, schema: &Schema, value: &Value, path: &str) -> Outcome {
        let format = known_format(&schema.validation);
        let expected = expected_types(schema);
        if expected.is_empty() && format.is_empty() {
            return Outcome::default();
        }
        let fails = |found: &str| {
            let what = format!("must be of type {}: \"{found}\"", expected.join(","));
            Outcome::one(self.error(FieldErrorKind::TypeInvalid, path, &found.into(), &what))
        };
        if value.is_null() {
            return if expected.is_empty() || schema.nullable { Outcome::default() } else { fails("null") };
        }
        let numeric = expected.contains(&"number") || expected.contains(&"integer");
        let unformatted = format.is_empty() || value.is_string() || value.is_array();
        if !unformatted && !fits_type(expected, value) {
            // With a format, kube-apiserver names the Go types, for example `int32` and `float64`.
            let found = format_of(value);
            let what = format!("must be of type {format}: \"{found}\"");
            return Outcome::one(self.error(FieldErrorKind::TypeInvalid, path, &found.into(), &what));
        }
        if !numeric && !format.is_empty() && (value.is_string() || value.is_array()) {
            return Outcome { errors: Vec::new(), matches: 1 };
        }
        if fits_type(expected, value) {
            Outcome { errors: Vec::new(), matches: 2 }
        } else {
            fails(type_of(value))
        }
    }

    fn junctors(&self, rules: &Validation, value: &Value, path: &mut String) -> Outcome {
        let mut outcome = Outcome::default();
        if !rules.any_of.is_empty() {
            let (valid, shown) = self.alternatives(&rules.any_of, value, path, true);
            if valid == 0 {
                let what = format!("\"{path}\" must validate at least one schema (anyOf)");
                outcome.errors.push(self.plain(what));
            }
            outcome.merge(shown);
        }
        if !rules.one_of.is_empty() {
            let (valid, shown) = self.alternatives(&rules.one_of, value, path, false);
            let found = match valid {
                0 => "Found none valid".to_owned(),
                many => format!("Found {many} valid alternatives"),
            };
            if valid != 1 {
                let what = format!("\"{path}\" must validate one and only one schema (oneOf). {found}");
                outcome.errors.push(self.plain(what));
            }
            if valid < 2 {
                outcome.merge(shown);
            }
        }
        let mut all_valid = true;
        for schema in &rules.all_of {
            let result = self.node(schema, value, None, path);
            all_valid &= result.errors.is_empty();
            outcome.merge(result);
        }
        if !all_valid {
            outcome.errors.push(self.plain(format!("\"{path}\" must validate all the schemas (allOf)")));
        }
        if let Some(not) = &rules.not
            && self.node(not, value, None, path).errors.is_empty()
        {
            outcome.errors.push(self.plain(format!("\"{path}\" must not validate the schema (not)")));
        }
        outcome.matches += 1;
        outcome
    }

    /// Returns the number of valid alternatives and the outcome to report: that of the first valid one, or of the
    /// failed one with the most successful checks.
    fn alternatives(
        &self,
        schemas: &[Schema],
        value: &Value,
        path: &mut String,
        stop: bool,
    ) -> (usize, Outcome) {
        let mut valid = 0;
        let mut success: Option<Outcome> = None;
        let mut failure: Option<Outcome> = None;
        for schema in schemas {
            let result = self.node(schema, value, None, path);
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

    fn text(&self, rules: &Validation, text: &str, value: &Value, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        // Only the first of these three errors is reported.
        let length = || text.chars().count() as u64;
        if let Some(max) = rules.max_length.filter(|max| text.len() as u64 > *max && length() > *max) {
            let detail = format!("may not be more than {max} bytes");
            outcome.errors.push(FieldError::bare(FieldErrorKind::TooLong, self.field(path), detail));
        } else if let Some(min) = rules.min_length.filter(|min| length() < *min) {
            let what = format!("should be at least {min} chars long");
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, value, &what));
        } else if let Some(pattern) = &rules.pattern
            && !rules.matcher.is_match(pattern, text)
        {
            let what = format!("should match '{pattern}'");
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, value, &what));
        }
        if let Some(format) = rules.format.as_deref()
            && formats::check(format, text) == Some(false)
        {
            let what = format!("must be of type {format}: {}", crate::field::quote(text));
            outcome.errors.push(self.error(FieldErrorKind::TypeInvalid, path, value, &what));
        }
        outcome.matches += 1;
        outcome
    }

    fn number(&self, schema: &Schema, number: Numeric, value: &Value, path: &str) -> Outcome {
        let rules = &schema.validation;
        let mut outcome = Outcome::default();
        if let Some(problem) = range_problem(number, schema.kind, known_format(rules), path) {
            outcome.errors.push(self.plain(problem));
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
            let error = FieldError::new(FieldErrorKind::Invalid, self.field(path), &step.into(), why);
            outcome.errors.push(error);
        } else if let Some(step) = rules.multiple_of
            && !is_multiple(number, step)
        {
            let why = format!("should be a multiple of {}", show(step));
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, value, &why));
        }
        let mut report = |what: String| {
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, value, &what));
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

    fn list(&self, schema: &Schema, list: &[Value], old: Option<&Value>, path: &mut String) -> Outcome {
        let mut outcome = Outcome::default();
        let rules = &schema.validation;
        if let Some(items) = schema.items.as_deref() {
            let old = OldItems::new(schema, old.and_then(Value::as_array));
            let length = path.len();
            for (i, item) in list.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                outcome.merge(self.node(items, item, old.of(item), path));
                path.truncate(length);
                if outcome.is_full() {
                    break;
                }
            }
        }
        let count = list.len() as u64;
        if let Some(min) = rules.min_items.filter(|min| count < *min) {
            let what = format!("should have at least {min} items");
            let value = Value::from(count);
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, &value, &what));
        }
        if let Some(max) = rules.max_items.filter(|max| count > *max) {
            outcome.errors.push(too_many(self.field(path), count, max));
        }
        let mut seen = HashSet::new();
        if rules.unique_items && !list.iter().all(|item| seen.insert(item.to_string())) {
            let error = self.error(FieldErrorKind::Invalid, path, &"".into(), "shouldn't contain duplicates");
            outcome.errors.push(error);
        }
        outcome.matches += 1;
        outcome
    }

    fn allowed(&self, rules: &Validation, value: &Value, path: &str) -> Outcome {
        let Some(allowed) = rules.allowed.as_deref().filter(|allowed| !allowed.is_empty()) else {
            return Outcome::default();
        };
        if !value.is_null() && rules.enumerated.contains(allowed, value) {
            return Outcome::default();
        }
        Outcome::one(FieldError::not_supported(self.field(path), value, allowed))
    }

    fn object(
        &self,
        schema: &Schema,
        map: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        path: &mut String,
    ) -> Outcome {
        let rules = &schema.validation;
        let count = map.len() as u64;
        let mut outcome = Outcome::default();
        if let Some(min) = rules.min_properties.filter(|min| count < *min) {
            let what = format!("should have at least {min} properties");
            outcome.errors.push(self.error(FieldErrorKind::Invalid, path, &count.into(), &what));
        }
        if let Some(max) = rules.max_properties.filter(|max| count > *max) {
            outcome.errors.push(too_many(self.field(path), count, max));
        }
        let length = path.len();
        for (key, value) in map {
            let child = schema.child(key);
            let Some(child) = child else { continue };
            // A value that is validated alone has no name. Its properties have no leading dot in their paths, other
            // fields have one.
            if length > 0 || !schema.properties.contains_key(key) {
                path.push('.');
            }
            path.push_str(key);
            let before = old.and_then(|old| old.get(key));
            outcome.merge(self.node(child, value, before, path));
            path.truncate(length);
            if outcome.is_full() {
                break;
            }
        }
        for name in &rules.required {
            let defaulted = || schema.properties.get(name).is_some_and(|child| child.default.is_some());
            if !map.contains_key(name) && !defaulted() {
                let field = if length > 0 { format!("{path}.{name}") } else { name.clone() };
                outcome.errors.push(FieldError::bare(FieldErrorKind::Required, self.field(&field), ""));
            }
        }
        outcome
    }
}

fn too_many(field: String, count: u64, max: u64) -> FieldError {
    let items = if max == 1 { "item" } else { "items" };
    FieldError::new(FieldErrorKind::TooMany, field, &count.into(), format!("must have at most {max} {items}"))
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

/// Returns the format if the server knows it, otherwise an empty text.
fn known_format(rules: &Validation) -> &str {
    rules.format.as_deref().filter(|_| rules.known_format).unwrap_or_default()
}

fn expected_types(schema: &Schema) -> &'static [&'static str] {
    match schema.kind {
        _ if schema.int_or_string => &["integer", "string"],
        Some(Kind::Object) => &["object"],
        Some(Kind::Array) => &["array"],
        Some(Kind::String) => &["string"],
        Some(Kind::Integer) => &["integer"],
        Some(Kind::Number) => &["number"],
        Some(Kind::Boolean) => &["boolean"],
        None => &[],
    }
}

fn fits_type(expected: &[&str], value: &Value) -> bool {
    let found = type_of(value);
    expected.contains(&found)
        || (found == "integer" && expected.contains(&"number"))
        || (found == "number"
            && expected.contains(&"integer")
            && value.as_number().is_some_and(|number| Numeric::of(number).is_whole()))
}

fn format_of(value: &Value) -> &'static str {
    match type_of(value) {
        "integer" => "int64",
        "number" => "float64",
        _ => "",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_i64().is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
