//! Validation of MutatingAdmissionPolicies and their bindings.

use cel::program::{Environment, Expected, Program};
use machinery::field::FieldError;
use serde_json::Value;

use super::bindings::check_bound;
use super::expressions::{EXPRESSION, POLICY_VARIABLES, check_conditions};
use super::policies::{check_constraints, check_param_kind, check_variables};
use crate::fields::{invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// The rules of MutatingAdmissionPolicies.
pub(crate) const POLICY: Rules = Rules { validate: policy, ..NONE };
/// The rules of MutatingAdmissionPolicyBindings.
pub(crate) const BINDING: Rules = Rules { validate: binding, ..NONE };

/// The operations that have an object which can be changed.
const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

fn policy(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &policy["spec"];
    let mut environment = environment(spec);
    check_param_kind(&spec["paramKind"], &mut errors);
    check_constraints(spec, &mut errors);
    check_operations(spec, "matchConstraints", &mut errors);
    check_conditions(spec, "spec", &environment.without("variables"), &mut errors);
    if !check_variables(spec, &mut environment, &mut errors) {
        return errors;
    }
    let mutations = list(spec, "mutations");
    if mutations.is_empty() {
        errors.push(required("spec.mutations", "mutations must contain at least one item"));
    }
    let environment = environment.patching();
    for (index, mutation) in mutations.iter().enumerate() {
        check_mutation(mutation, &format!("spec.mutations[{index}]"), &environment, &mut errors);
    }
    if text(spec, "reinvocationPolicy").is_empty() {
        errors.push(required("spec.reinvocationPolicy", ""));
    }
    errors
}

fn binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &binding["spec"];
    check_bound(spec, &mut errors);
    check_operations(spec, "matchResources", &mut errors);
    errors
}

/// Returns the variables of a policy; `params` only if it has a kind of them.
fn environment(spec: &Value) -> Environment {
    let has_params = spec["paramKind"].is_object();
    let names = POLICY_VARIABLES.iter().copied().filter(|name| *name != "params" || has_params);
    Environment::new(&names.collect::<Vec<_>>())
}

/// Refuses rules for deletions, of which there is nothing to change.
fn check_operations(spec: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let rules = list(&spec[field], "resourceRules").iter();
    for operation in rules.flat_map(|rule| list(rule, "operations")) {
        if !OPERATIONS.iter().any(|known| operation == known) {
            let path = format!("spec.{field}.resourceRules.operations");
            errors.push(FieldError::not_supported(path, operation, &OPERATIONS.map(Value::from)));
        }
    }
}

/// Checks that a mutation has the expression of its type, and no other.
fn check_mutation(mutation: &Value, path: &str, environment: &Environment, errors: &mut Vec<FieldError>) {
    let kind = text(mutation, "patchType");
    let (own, other, expected) = match kind {
        "" => return errors.push(required(format!("{path}.patchType"), "")),
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Expected::Operations),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Expected::Configuration),
        _ => return,
    };
    let field = format!("{path}.{own}");
    if mutation[own].is_object() {
        let expression = text(&mutation[own], EXPRESSION).trim();
        let field = format!("{field}.{EXPRESSION}");
        if expression.is_empty() {
            errors.push(required(field, ""));
        } else if let Err(why) = Program::compile(expression, environment, expected) {
            errors.push(invalid(field, expression, why));
        }
    } else {
        errors.push(required(field, format!("must be specified when patchType is {kind}")));
    }
    if mutation[other].is_object() {
        let why = format!("must not be specified when patchType is {kind}");
        errors.push(invalid(format!("{path}.{other}"), format!("{{{other}}}"), why));
    }
}
