//! Validation of numbers.

use std::cmp::Ordering;

use serde_json::Value;

use super::run::{Fields, Outcome};
use super::types::known_format;
use crate::field::{FieldError, FieldErrorKind};
use crate::go::go_float;
use crate::schema::number::{Numeric, range_problem};
use crate::schema::{Schema, Validation};

pub(super) fn number(
    fields: &Fields<'_>,
    schema: &Schema,
    number: Numeric,
    value: &Value,
    path: &str,
) -> Outcome {
    let mut check = Check { fields, schema, value, path, number, outcome: Outcome::default() };
    check.range(number, "Checked");
    let rules = &schema.validation;
    if let Some(step) = rules.multiple_of {
        check.multiple(step);
    }
    check.limits(rules);
    check.outcome.matches += 1;
    check.outcome
}

struct Check<'a> {
    fields: &'a Fields<'a>,
    schema: &'a Schema,
    value: &'a Value,
    path: &'a str,
    number: Numeric,
    outcome: Outcome,
}

impl Check<'_> {
    fn report(&mut self, what: &str) {
        let error = self.fields.error(FieldErrorKind::Invalid, self.path, self.value, what);
        self.outcome.errors.push(error);
    }

    /// Checks that a number, or the `what` of the schema, has the type and the format of the schema.
    fn range(&mut self, number: Numeric, what: &str) -> bool {
        let format = known_format(&self.schema.validation);
        let problem = range_problem(number, self.schema.kind, format, what, self.path);
        let fits = problem.is_none();
        self.outcome.errors.extend(problem.map(|problem| self.fields.plain(problem)));
        fits
    }

    /// Returns the number as it is compared with a part of the schema: as a float, if that part does not have the type of the schema.
    fn compared(&mut self, part: f64, what: &str) -> Numeric {
        match (self.range(Numeric::Float(part), what), self.number) {
            (false, Numeric::Int(int)) => Numeric::Float(int as f64),
            (_, number) => number,
        }
    }

    fn multiple(&mut self, step: f64) {
        let number = self.compared(step, "MultipleOf");
        let (positive, shown) = match number {
            Numeric::Int(_) => (step as i64 > 0, Value::from(step as i64)),
            Numeric::Float(_) => (step > 0.0, Value::from(step)),
        };
        if !positive {
            let why = format!(
                "factor MultipleOf declared for {} must be positive: {}",
                self.path,
                show(number, step)
            );
            let name = self.fields.name(self.path);
            self.outcome.errors.push(FieldError::new(FieldErrorKind::Invalid, name, &shown, why));
        } else if !is_multiple(number, step) {
            self.report(&format!("should be a multiple of {}", show(number, step)));
        }
    }

    fn limits(&mut self, rules: &Validation) {
        if let Some(limit) = rules.minimum {
            let number = self.compared(limit, "Minimum boundary");
            if is_beyond(number, limit, rules.exclusive_minimum, Ordering::Less) {
                let words = if rules.exclusive_minimum { "greater than" } else { "greater than or equal to" };
                self.report(&format!("should be {words} {}", show(number, limit)));
            }
        }
        if let Some(limit) = rules.maximum {
            let number = self.compared(limit, "Maximum boundary");
            if is_beyond(number, limit, rules.exclusive_maximum, Ordering::Greater) {
                let words = if rules.exclusive_maximum { "less than" } else { "less than or equal to" };
                self.report(&format!("should be {words} {}", show(number, limit)));
            }
        }
    }
}

/// Returns a part of the schema as it is compared with the number.
fn show(number: Numeric, part: f64) -> String {
    match number {
        Numeric::Int(_) => (part as i64).to_string(),
        Numeric::Float(_) => go_float(part),
    }
}

fn is_beyond(number: Numeric, limit: f64, exclusive: bool, beyond: Ordering) -> bool {
    let order = match number {
        Numeric::Int(int) => Some(int.cmp(&(limit as i64))),
        Numeric::Float(float) => float.partial_cmp(&limit),
    };
    order == Some(beyond) || (exclusive && order == Some(Ordering::Equal))
}

fn is_multiple(number: Numeric, step: f64) -> bool {
    match number {
        // Whole numbers are divided by the whole part of the step.
        Numeric::Int(int) => int % (step as i64) == 0,
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
