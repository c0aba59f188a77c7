//! Validation of ValidatingAdmissionPolicyBindings, and of the resources that policies and bindings match.

use std::collections::HashSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Value, json};

use super::matching::{check_rule, check_selector};
use crate::fields::{forbidden, invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// ValidatingAdmissionPolicyBinding.
pub(crate) const BINDING: Rules = Rules { validate: binding, ..NONE };

pub(crate) fn check_resources_matched(
    resources: &Value,
    path: &str,
    needed: bool,
    errors: &mut Vec<FieldError>,
) {
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
            let path = format!("{path}.{name}[{index}]");
            check_names(rule, &path, errors);
            check_rule(rule, &path, errors);
        }
    }
}

/// Checks the names of the objects that a rule matches.
fn check_names(rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    for (index, name) in list(rule, "resourceNames").iter().enumerate() {
        let field = format!("{path}.resourceNames[{index}]");
        let problems = names::path_segment(name.as_str().unwrap_or_default());
        errors.extend(problems.into_iter().map(|why| invalid(field.as_str(), (*name).clone(), why)));
        if !seen.insert(name) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, name, ""));
        }
    }
}

/// Checks what all bindings have: the policy, its parameters, and the requests for which it is bound.
pub(super) fn check_bound(spec: &Value, errors: &mut Vec<FieldError>) {
    let policy = text(spec, "policyName");
    if policy.is_empty() {
        errors.push(required("spec.policyName", ""));
    } else {
        let problems = names::dns1123_subdomain(policy);
        errors.extend(problems.into_iter().map(|why| invalid("spec.policyName", policy, why)));
    }
    if spec["paramRef"].is_object() {
        check_param_ref(&spec["paramRef"], errors);
    }
    if spec["matchResources"].is_object() {
        check_resources_matched(&spec["matchResources"], "spec.matchResources", false, errors);
    }
}

fn binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &binding["spec"];
    check_bound(spec, &mut errors);
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
    let both = "name and selector are mutually exclusive";
    let name = text(reference, "name");
    let problems = if named { names::path_segment(name) } else { Vec::new() };
    errors.extend(problems.into_iter().map(|why| invalid("spec.paramRef.name", name, why)));
    if named && selected {
        errors.push(forbidden("spec.paramRef.name", both));
    }
    check_selector(&reference["selector"], "spec.paramRef.selector", errors);
    if named && selected {
        errors.push(forbidden("spec.paramRef.selector", both));
    } else if !named && !selected {
        errors.push(required("spec.paramRef", "one of name or selector must be specified"));
    }
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
