//! Validation of ValidatingAdmissionPolicies.

use std::collections::BTreeSet;

use cel::limits::MAX_CEL_VARIABLES;
use cel::program::{Environment, Expected, Program};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::{meta, names};
use serde_json::Value;

use super::bindings::check_resources_matched;
use super::expressions::{EXPRESSION, POLICY_VARIABLES, check_conditions, check_expression};
use crate::fields::{invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// ValidatingAdmissionPolicy.
pub(crate) const POLICY: Rules = Rules { validate: policy, ..NONE };

/// Maximum number of audit annotations.
const MAX_AUDIT_ANNOTATIONS: usize = 20;
/// Maximum length of the expression of an audit annotation, in bytes.
const MAX_AUDIT_EXPRESSION: usize = 5 * 1024;

fn policy(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &policy["spec"];
    let mut environment = environment(spec);
    check_param_kind(&spec["paramKind"], &mut errors);
    check_constraints(spec, &mut errors);
    check_conditions(spec, "spec", &environment.without("variables"), &mut errors);
    if !check_variables(spec, &mut environment, &mut errors) {
        return errors;
    }
    let (validations, audits) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if validations.is_empty() && audits.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        errors.push(required("spec.validations", why));
        errors.push(required("spec.auditAnnotations", why));
    }
    let unasked = environment.without("authorizer");
    for (index, validation) in validations.iter().enumerate() {
        let path = format!("spec.validations[{index}]");
        let expression = text(validation, EXPRESSION);
        let field = format!("{path}.{EXPRESSION}");
        check_expression(expression, &field, &environment, Expected::Boolean, &mut errors);
        let message = text(validation, "messageExpression");
        let field = format!("{path}.messageExpression");
        if !message.is_empty() && message.trim().is_empty() {
            errors.push(invalid(field.as_str(), message, "must be non-empty if specified"));
        }
        check_expression(message, &field, &unasked, Expected::Text, &mut errors);
        check_validation(validation, &path, &mut errors);
    }
    check_audits(policy, &environment, &mut errors);
    errors
}

/// Checks which requests a policy is for.
pub(super) fn check_constraints(spec: &Value, errors: &mut Vec<FieldError>) {
    if spec["matchConstraints"].is_null() {
        errors.push(required("spec.matchConstraints", ""));
    } else {
        check_resources_matched(&spec["matchConstraints"], "spec.matchConstraints", true, errors);
    }
}

/// Returns the variables of a policy; `params` only if it has a kind of them, and `variables` only if it defines some.
fn environment(spec: &Value) -> Environment {
    let names = POLICY_VARIABLES.iter().copied().filter(|name| match *name {
        "params" => spec["paramKind"].is_object(),
        "variables" => !list(spec, "variables").is_empty(),
        _ => true,
    });
    Environment::new(&names.collect::<Vec<_>>())
}

/// Checks the kind of the parameters.
pub(super) fn check_param_kind(given: &Value, errors: &mut Vec<FieldError>) {
    if !given.is_object() {
        return;
    }
    let (api_version, kind) = (text(given, "apiVersion"), text(given, "kind"));
    let field = "spec.paramKind.apiVersion";
    let (group, version) = meta::group_version(api_version);
    if api_version.is_empty() {
        errors.push(required(field, ""));
    } else if version.contains('/') {
        let why = format!("unexpected GroupVersion string: {api_version}");
        errors.push(invalid(field, api_version, why));
    } else {
        let problems = if group.is_empty() { Vec::new() } else { names::dns1123_subdomain(group) };
        if !problems.is_empty() {
            errors.push(invalid(field, group, problems.join(",")));
        }
        let problems = names::dns1035_label(version);
        if version.is_empty() {
            errors.push(invalid(field, api_version, "version must be specified"));
        } else if !problems.is_empty() {
            errors.push(invalid(field, version, problems.join(",")));
        }
    }
    let problems = names::dns1035_label(&kind.to_lowercase());
    if kind.is_empty() {
        errors.push(required("spec.paramKind.kind", ""));
    } else if !problems.is_empty() {
        let why = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
        errors.push(invalid("spec.paramKind.kind", kind, why));
    }
}

/// Checks the variables, and declares each for those after it. Returns false if there are too many of them.
pub(super) fn check_variables(
    spec: &Value,
    environment: &mut Environment,
    errors: &mut Vec<FieldError>,
) -> bool {
    let variables = list(spec, "variables");
    if variables.len() > MAX_CEL_VARIABLES {
        let detail = format!("must have at most {MAX_CEL_VARIABLES} items");
        let count = variables.len().into();
        errors.push(FieldError::new(FieldErrorKind::TooMany, "spec.variables", &count, detail));
        return false;
    }
    for (index, variable) in variables.iter().enumerate() {
        let path = format!("spec.variables[{index}]");
        let (name, expression) = (text(variable, "name"), text(variable, EXPRESSION));
        if !name.is_empty() && name.trim().is_empty() {
            errors.push(required(format!("{path}.name"), "name is not specified"));
        } else if !name.is_empty() && !cel::is_identifier(name) {
            errors.push(invalid(format!("{path}.name"), name, "must be a valid CEL identifier"));
        }
        if !expression.trim().is_empty()
            && let Err(why) = Program::define(name, expression, environment)
        {
            errors.push(invalid(format!("{path}.{EXPRESSION}"), expression, why));
        }
    }
    true
}

fn check_validation(validation: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let message = text(validation, "message");
    if !message.is_empty() && message.trim().is_empty() {
        errors.push(invalid(format!("{path}.message"), message, "must be non-empty if specified"));
    } else if message.trim().contains(['\n', '\r']) {
        errors.push(invalid(format!("{path}.message"), message, "must not contain line breaks"));
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    let reason = text(validation, "reason");
    if validation["reason"].is_string() && !reasons.contains(&reason) {
        let allowed = reasons.map(Value::from);
        errors.push(FieldError::not_supported(format!("{path}.reason"), &reason.into(), &allowed));
    }
}

/// Checks the audit annotations, whose names consist of the name of the policy and their key.
fn check_audits(policy: &Value, environment: &Environment, errors: &mut Vec<FieldError>) {
    let audits = list(&policy["spec"], "auditAnnotations");
    if audits.len() > MAX_AUDIT_ANNOTATIONS {
        let why = format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.push(invalid("spec.auditAnnotations", policy["spec"]["auditAnnotations"].clone(), why));
    }
    let name = text(&policy["metadata"], "name");
    let mut seen = BTreeSet::new();
    for (index, audit) in audits.iter().enumerate() {
        let path = format!("spec.auditAnnotations[{index}]");
        let (key, field) = (text(audit, "key"), format!("{path}.key"));
        if name.is_empty() {
            errors.push(invalid(field.as_str(), key, "requires metadata.name be non-empty"));
        } else {
            let full = format!("{name}/{key}");
            let problems = names::qualified_name(&full);
            errors.extend(problems.into_iter().map(|why| invalid(field.as_str(), full.as_str(), why)));
        }
        let (expression, value_field) = (text(audit, "valueExpression"), format!("{path}.valueExpression"));
        if expression.trim().len() > MAX_AUDIT_EXPRESSION {
            let why = format!("must not exceed {MAX_AUDIT_EXPRESSION} bytes in length");
            errors.push(required(value_field, &why));
        } else {
            let expression = expression.trim();
            check_expression(expression, &value_field, environment, Expected::TextOrNull, errors);
        }
        if !seen.insert(key) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &key.into(), ""));
        }
    }
}
