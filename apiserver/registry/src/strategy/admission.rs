//! Validation of admission webhook configurations, admission policies and their bindings.

use std::collections::{BTreeSet, HashSet};

use cel::limits::MAX_CEL_VARIABLES;
use cel::program::{Expected, Program};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use machinery::selector::LabelSelector;
use serde_json::{Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};

/// ValidatingWebhookConfiguration and MutatingWebhookConfiguration.
pub(super) const WEBHOOKS: Rules = Rules { validate: webhooks, ..NONE };

/// ValidatingAdmissionPolicy.
pub(super) const POLICY: Rules = Rules { validate: policy, ..NONE };

/// ValidatingAdmissionPolicyBinding.
pub(super) const BINDING: Rules = Rules { validate: binding, ..NONE };

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// CEL variables of the match conditions of webhooks.
pub(crate) const REQUEST: [&str; 3] = ["object", "oldObject", "request"];
/// CEL variables of the expressions of policies.
pub(crate) const POLICY_VARIABLES: [&str; 6] =
    ["object", "oldObject", "request", "params", "namespaceObject", "variables"];

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn webhooks(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, webhook) in list(configuration, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        check_webhook(webhook, &path, &mut errors);
        if !seen.insert(text(webhook, "name")) {
            let name = &webhook["name"];
            errors.push(FieldError::new(FieldErrorKind::Duplicate, format!("{path}.name"), name, ""));
        }
    }
    errors
}

fn check_webhook(webhook: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let name = text(webhook, "name");
    if !name.is_empty() {
        let problems = names::dns1123_subdomain(name);
        let few = problems.is_empty() && name.split('.').count() < 3;
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
        if few {
            let why = "should be a domain with at least three segments separated by dots";
            errors.push(invalid(format!("{path}.name"), name, why));
        }
    }
    check_versions(webhook, path, errors);
    for (index, rule) in list(webhook, "rules").iter().enumerate() {
        check_rule(rule, &format!("{path}.rules[{index}]"), errors);
    }
    match text(webhook, "sideEffects") {
        "None" | "NoneOnDryRun" => {}
        "" => errors.push(required(format!("{path}.sideEffects"), "must specify one of None, NoneOnDryRun")),
        other => {
            let allowed = ["None".into(), "NoneOnDryRun".into()];
            let field = format!("{path}.sideEffects");
            // The structural check reports values that are not part of the enum; `Some` and `Unknown` are in the enum.
            if matches!(other, "Some" | "Unknown") {
                errors.push(FieldError::not_supported(field, &other.into(), &allowed));
            }
        }
    }
    if let Some(seconds) = webhook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(invalid(format!("{path}.timeoutSeconds"), seconds, why));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        check_selector(&webhook[selector], &format!("{path}.{selector}"), errors);
    }
    check_client(&webhook["clientConfig"], &format!("{path}.clientConfig"), errors);
    check_conditions(webhook, path, &REQUEST, errors);
}

fn check_versions(webhook: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.admissionReviewVersions");
    let versions = list(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        errors.push(required(path, "must specify one of v1, v1beta1"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let version = version.as_str().unwrap_or_default();
        let path = format!("{path}[{index}]");
        if !seen.insert(version) {
            errors.push(invalid(path, version, "duplicate version"));
        } else {
            let problems = names::dns1035_label(version);
            errors.extend(problems.into_iter().map(|why| invalid(path.clone(), version, why)));
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(invalid(path, webhook["admissionReviewVersions"].clone(), why));
    }
}

fn check_rule(rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let operations = list(rule, "operations");
    if operations.is_empty() {
        errors.push(required(format!("{path}.operations"), ""));
    }
    if operations.len() > 1 && operations.iter().any(|one| one == "*") {
        let why = "if '*' is present, must not specify other operations";
        errors.push(invalid(format!("{path}.operations"), rule["operations"].clone(), why));
    }
    for (index, operation) in operations.iter().enumerate() {
        if !OPERATIONS.iter().any(|known| operation == known) {
            let allowed = OPERATIONS.map(Value::from);
            let field = format!("{path}.operations[{index}]");
            errors.push(FieldError::not_supported(field, operation, &allowed));
        }
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let found = list(rule, name);
        if found.is_empty() {
            errors.push(required(format!("{path}.{name}"), ""));
        }
        if found.len() > 1 && found.iter().any(|one| one == "*") {
            let why = format!("if '*' is present, must not specify other {what}");
            errors.push(invalid(format!("{path}.{name}"), rule[name].clone(), why));
        }
        // The name of the core group is empty, but a version is never empty.
        for index in (0..found.len()).filter(|index| name == "apiVersions" && found[*index] == "") {
            errors.push(required(format!("{path}.{name}[{index}]"), ""));
        }
    }
    check_resources(rule, &format!("{path}.resources"), errors);
    let scope = text(rule, "scope");
    if !matches!(scope, "" | "*" | "Cluster" | "Namespaced") {
        let allowed = ["*".into(), "Cluster".into(), "Namespaced".into()];
        errors.push(FieldError::not_supported(format!("{path}.scope"), &scope.into(), &allowed));
    }
}

fn check_resources(rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let resources = list(rule, "resources");
    if resources.is_empty() {
        errors.push(required(path, ""));
    }
    let all: Vec<&str> = resources.iter().filter_map(Value::as_str).collect();
    let names: HashSet<&str> = all.iter().copied().collect();
    for (index, name) in all.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if name.is_empty() {
            errors.push(required(path, ""));
            continue;
        }
        let covered = match name.split_once('/') {
            Some((resource, part)) => {
                let all = (part != "*").then(|| format!("{resource}/*"));
                let any = (resource != "*").then(|| format!("*/{part}"));
                all.into_iter().chain(any).find(|other| names.contains(other.as_str()))
            }
            None => None,
        };
        if let Some(by) = covered {
            errors.push(invalid(path, *name, format!("if '{by}' is present, must not specify {name}")));
        }
    }
    if names.contains("*/*") && all.len() > 1 {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push(invalid(path, rule["resources"].clone(), why));
    }
    if names.contains("*") && names.iter().any(|name| *name != "*" && !name.contains('/')) {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(invalid(path, rule["resources"].clone(), why));
    }
}

fn check_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if selector.is_object()
        && let Err(why) = LabelSelector::from_object(selector)
    {
        errors.push(invalid(path, selector.clone(), why));
    }
}

fn check_client(client: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (url, service) = (text(client, "url"), &client["service"]);
    if url.is_empty() == service.is_null() {
        errors.push(required(path, "exactly one of url or service is required"));
        return;
    }
    if !url.is_empty() {
        let path = format!("{path}.url");
        let form = "; desired format: https://host[/path]";
        let Some(rest) = url.strip_prefix("https://") else {
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            let why = format!("'https' is the only allowed URL scheme{form}");
            errors.push(invalid(path, scheme, why));
            return;
        };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if host.is_empty() {
            errors.push(invalid(path, "", format!("host must be specified{form}")));
        } else if host.contains('@') {
            let why = "user information is not permitted in the URL";
            errors.push(invalid(path, host.split('@').next().unwrap_or_default(), why));
        } else if let Some((_, fragment)) = rest.split_once('#') {
            errors.push(invalid(path, fragment, "fragments are not permitted in the URL"));
        } else if let Some((_, query)) = rest.split_once('?') {
            errors.push(invalid(path, query, "query parameters are not permitted in the URL"));
        }
        return;
    }
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            errors.push(required(format!("{path}.service.{field}"), format!("service {field} is required")));
        }
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(invalid(format!("{path}.service.port"), port, why));
    }
    let place = text(service, "path");
    if !place.is_empty() && !place.starts_with('/') {
        errors.push(invalid(format!("{path}.service.path"), place, "must start with a '/'"));
    }
}

/// The usual name of the field that holds a CEL expression.
const EXPRESSION: &str = "expression";

/// Maximum number of match conditions.
const MAX_CONDITIONS: usize = 64;

fn check_conditions(holder: &Value, path: &str, variables: &[&str], errors: &mut Vec<FieldError>) {
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
fn check_expression(
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
