//! Validation of ValidatingAdmissionPolicies and their bindings.

use std::collections::HashSet;

use cel::limits::MAX_CEL_VARIABLES;
use cel::program::Expected;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Value, json};

use super::expressions::{EXPRESSION, POLICY_VARIABLES, check_conditions, check_expression};
use super::matching::{check_rule, check_selector};
use crate::fields::{forbidden, invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// ValidatingAdmissionPolicy.
pub(crate) const POLICY: Rules = Rules { validate: policy, ..NONE };

/// ValidatingAdmissionPolicyBinding.
pub(crate) const BINDING: Rules = Rules { validate: binding, ..NONE };

fn policy(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &policy["spec"];
    let params = spec["paramKind"].is_object();
    let named = !list(spec, "variables").is_empty();
    let allowed = |name: &&&str| (params || **name != "params") && (named || **name != "variables");
    let variables: Vec<&str> = POLICY_VARIABLES.iter().filter(allowed).copied().collect();
    let unnamed: Vec<&str> = variables.iter().copied().filter(|name| *name != "variables").collect();
    let (validations, audits) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if params {
        for field in ["apiVersion", "kind"] {
            if text(&spec["paramKind"], field).is_empty() {
                errors.push(required(format!("spec.paramKind.{field}"), ""));
            }
        }
    }
    if spec["matchConstraints"].is_null() {
        errors.push(required("spec.matchConstraints", ""));
    } else {
        check_resources_matched(&spec["matchConstraints"], "spec.matchConstraints", true, &mut errors);
    }
    check_conditions(spec, "spec", &unnamed, &mut errors);
    let count = list(spec, "variables").len();
    if count > MAX_CEL_VARIABLES {
        let detail = format!("must have at most {MAX_CEL_VARIABLES} items");
        errors.push(FieldError::new(FieldErrorKind::TooMany, "spec.variables", &count.into(), detail));
        return errors;
    }
    for (index, variable) in list(spec, "variables").iter().enumerate() {
        let path = format!("spec.variables[{index}]");
        check_expression((variable, EXPRESSION), &path, &variables, Expected::Any, &mut errors);
        let name = text(variable, "name");
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name.is_empty() && (!plain || name.starts_with(|c: char| c.is_ascii_digit())) {
            let why = "must be a valid CEL identifier";
            errors.push(invalid(format!("{path}.name"), name, why));
        }
    }
    if validations.is_empty() && audits.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        errors.push(required("spec.validations", why));
        errors.push(required("spec.auditAnnotations", why));
    }
    for (index, validation) in validations.iter().enumerate() {
        check_validation(validation, &format!("spec.validations[{index}]"), &variables, &mut errors);
    }
    for (index, audit) in audits.iter().enumerate() {
        let path = format!("spec.auditAnnotations[{index}]");
        let audit = (audit, "valueExpression");
        check_expression(audit, &path, &variables, Expected::TextOrNull, &mut errors);
    }
    errors
}

fn check_validation(validation: &Value, path: &str, variables: &[&str], errors: &mut Vec<FieldError>) {
    check_expression((validation, EXPRESSION), path, variables, Expected::Boolean, errors);
    check_expression((validation, "messageExpression"), path, variables, Expected::Text, errors);
    let expression = text(validation, EXPRESSION).trim();
    let message = text(validation, "message");
    if !message.is_empty() && message.trim().is_empty() {
        errors.push(invalid(format!("{path}.message"), message, "must be non-empty if specified"));
    } else if message.trim().contains('\n') {
        errors.push(invalid(format!("{path}.message"), message, "must not contain line breaks"));
    } else if expression.contains('\n') && message.is_empty() {
        let why = "message must be specified if expression contains line breaks";
        errors.push(required(format!("{path}.message"), why));
    }
    let shown = text(validation, "messageExpression");
    if !shown.is_empty() && shown.trim().is_empty() {
        let field = format!("{path}.messageExpression");
        errors.push(invalid(field, shown, "must be non-empty if specified"));
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    let reason = text(validation, "reason");
    if validation["reason"].is_string() && !matches!(reason, "Unauthorized") && !reasons.contains(&reason) {
        let allowed = reasons.map(Value::from);
        errors.push(FieldError::not_supported(format!("{path}.reason"), &reason.into(), &allowed));
    }
}

fn check_resources_matched(resources: &Value, path: &str, needed: bool, errors: &mut Vec<FieldError>) {
    for selector in ["namespaceSelector", "objectSelector"] {
        check_selector(&resources[selector], &format!("{path}.{selector}"), errors);
    }
    let rules = list(resources, "resourceRules");
    if rules.is_empty() && needed {
        errors.push(required(format!("{path}.resourceRules"), ""));
    }
    for (name, rules) in
        [("resourceRules", rules), ("excludeResourceRules", list(resources, "excludeResourceRules"))]
    {
        for (index, rule) in rules.iter().enumerate() {
            check_rule(rule, &format!("{path}.{name}[{index}]"), errors);
        }
    }
}

fn binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &binding["spec"];
    let policy = text(spec, "policyName");
    if policy.is_empty() {
        errors.push(required("spec.policyName", ""));
    } else {
        let problems = names::dns1123_subdomain(policy);
        errors.extend(problems.into_iter().map(|why| invalid("spec.policyName", policy, why)));
    }
    if spec["paramRef"].is_object() {
        check_param_ref(&spec["paramRef"], &mut errors);
    }
    if spec["matchResources"].is_object() {
        check_resources_matched(&spec["matchResources"], "spec.matchResources", false, &mut errors);
    }
    let actions = list(spec, "validationActions");
    if actions.is_empty() {
        errors.push(required("spec.validationActions", "at least one validation action is required"));
    }
    let has = |action: &str| actions.iter().any(|one| one == action);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        let shown: Vec<&Value> = actions.iter().collect();
        errors.push(invalid("spec.validationActions", json!(shown), why));
    }
    let mut seen = HashSet::new();
    for (index, action) in actions.iter().enumerate() {
        if !seen.insert(action) {
            let field = format!("spec.validationActions[{index}]");
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, action, ""));
        }
    }
    errors
}

fn check_param_ref(reference: &Value, errors: &mut Vec<FieldError>) {
    let named = !text(reference, "name").is_empty();
    let selected = reference["selector"].is_object();
    if named && selected {
        let why = "name and selector are mutually exclusive";
        errors.push(forbidden("spec.paramRef.name", why));
    } else if !named && !selected {
        errors.push(required("spec.paramRef", "one of name or selector must be specified"));
    }
    check_selector(&reference["selector"], "spec.paramRef.selector", errors);
    match text(reference, "parameterNotFoundAction") {
        "" => errors.push(required("spec.paramRef.parameterNotFoundAction", "")),
        "Allow" | "Deny" => {}
        other => {
            let allowed = ["Deny".into(), "Allow".into()];
            let field = "spec.paramRef.parameterNotFoundAction";
            errors.push(FieldError::not_supported(field, &other.into(), &allowed));
        }
    }
}
