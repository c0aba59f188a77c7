//! Validation of CEL expressions in webhook configurations and policies.

use std::collections::BTreeSet;

use cel::program::{Expected, Program};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::Value;

use crate::fields::{invalid, list, text};

/// CEL variables of the match conditions of webhooks.
pub const REQUEST: [&str; 3] = ["object", "oldObject", "request"];
/// CEL variables of the expressions of policies.
pub const POLICY_VARIABLES: [&str; 6] =
    ["object", "oldObject", "request", "params", "namespaceObject", "variables"];

/// The usual name of the field that holds a CEL expression.
pub(crate) const EXPRESSION: &str = "expression";

/// Maximum number of match conditions.
const MAX_CONDITIONS: usize = 64;

pub(crate) fn check_conditions(holder: &Value, path: &str, variables: &[&str], errors: &mut Vec<FieldError>) {
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
        check_expression((condition, EXPRESSION), &path, variables, Expected::Boolean, errors);
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

/// Compiles the CEL expression in `field` of `holder`, which stands at `path`. The structural check reports a missing
/// expression.
pub(crate) fn check_expression(
    (holder, field): (&Value, &str),
    path: &str,
    variables: &[&str],
    expected: Expected,
    errors: &mut Vec<FieldError>,
) {
    let expression = text(holder, field).trim();
    if !expression.is_empty()
        && let Err(why) = Program::compile(expression, variables, expected)
    {
        errors.push(invalid(format!("{path}.{field}"), expression, why));
    }
}
