//! What kube-apiserver checks of where a pod may run.

use machinery::field::FieldError;
use serde_json::Value;

use super::default::{forbidden, invalid, required};

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with affinities and tolerations of a pod's spec at `path`.
pub(super) fn check(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let affinity = &spec["affinity"];
    let nodes = &affinity["nodeAffinity"];
    let terms = "requiredDuringSchedulingIgnoredDuringExecution";
    if nodes[terms].is_object() {
        node_selector(&nodes[terms], &format!("{path}.affinity.nodeAffinity.{terms}"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let field = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in list(&affinity[kind], field).iter().enumerate() {
            let weight = term["weight"].as_i64().unwrap_or(0);
            if !(1..=100).contains(&weight) {
                let field = format!("{path}.affinity.{kind}.{field}[{index}].weight");
                errors.push(invalid(field, weight, "must be in the range 1-100"));
            }
        }
    }
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        tolerates(toleration, &format!("{path}.tolerations[{index}]"), errors);
    }
}

/// What is wrong with a selector of nodes.
pub(super) fn node_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let why = "must have at least one node selector term";
        errors.push(required(format!("{path}.nodeSelectorTerms"), why));
    }
    for (index, term) in terms.iter().enumerate() {
        for part in ["matchExpressions", "matchFields"] {
            for (at, requirement) in list(term, part).iter().enumerate() {
                let path = format!("{path}.nodeSelectorTerms[{index}].{part}[{at}]");
                requires(requirement, &path, errors);
            }
        }
    }
}

fn requires(requirement: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let values = list(requirement, "values").len();
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" | "NotIn" if values == 0 => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(required(format!("{path}.values"), why));
        }
        "Exists" | "DoesNotExist" if values > 0 => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(forbidden(format!("{path}.values"), why));
        }
        "Gt" | "Lt" if values != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(required(format!("{path}.values"), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.push(invalid(format!("{path}.operator"), other, "not a valid selector operator")),
    }
}

fn tolerates(toleration: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    let (key, operator, effect) = (text("key"), text("operator"), text("effect"));
    if key.is_empty() && operator != "Exists" {
        let why =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(invalid(format!("{path}.operator"), operator, why));
    }
    if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(invalid(format!("{path}.effect"), effect, why));
    }
    if operator == "Exists" && !text("value").is_empty() {
        let why = "value must be empty when `operator` is 'Exists'";
        errors.push(invalid(format!("{path}.operator"), toleration["value"].clone(), why));
    }
}
