//! Validation of the rules and selectors by which webhooks and policies match requests.

use std::collections::HashSet;

use machinery::field::FieldError;
use machinery::selector::LabelSelector;
use serde_json::Value;

use crate::fields::{invalid, list, required, text};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(crate) fn check_rule(rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
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

pub(crate) fn check_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if selector.is_object()
        && let Err(why) = LabelSelector::from_object(selector)
    {
        errors.push(invalid(path, selector.clone(), why));
    }
}
