//! Validation of CEL expressions in webhook configurations and policies.

use std::collections::BTreeSet;

use cel::program::{Environment, Expected, Program};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::Value;

use crate::fields::{invalid, list, text};

/// CEL variables of the match conditions of webhooks.
pub const REQUEST: [&str; 5] = ["object", "oldObject", "request", "namespaceObject", "authorizer"];
/// CEL variables of the expressions of policies.
pub const POLICY_VARIABLES: [&str; 7] =
    ["object", "oldObject", "request", "namespaceObject", "authorizer", "params", "variables"];

/// The usual name of the field that holds a CEL expression.
pub(crate) const EXPRESSION: &str = "expression";

/// Maximum number of match conditions.
const MAX_CONDITIONS: usize = 64;

pub(crate) fn check_conditions(
    holder: &Value,
    path: &str,
    environment: &Environment,
    errors: &mut Vec<FieldError>,
) {
    let conditions = list(holder, "matchConditions");
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    if conditions.len() > MAX_CONDITIONS {
        let why = format!("must have at most {MAX_CONDITIONS} items");
        errors.push(FieldError::bare(FieldErrorKind::TooMany, format!("{prefix}matchConditions"), why));
    }
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = format!("{prefix}matchConditions[{index}]");
        let name = text(condition, "name");
        let expression = text(condition, EXPRESSION).trim();
        check_expression(expression, &format!("{path}.{EXPRESSION}"), environment, Expected::Boolean, errors);
        if !name.is_empty() {
            let problems = names::qualified_name(name);
            errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
            if !seen.insert(name) {
                let field = format!("{path}.name");
                errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &name.into(), ""));
            }
        }
    }
}

/// Compiles the CEL expression of a field. The structural check reports a missing one.
pub(crate) fn check_expression(
    expression: &str,
    field: &str,
    environment: &Environment,
    expected: Expected,
    errors: &mut Vec<FieldError>,
) {
    if !expression.trim().is_empty()
        && let Err(why) = Program::compile(expression, environment, expected)
    {
        errors.push(invalid(field, expression, why));
    }
}
