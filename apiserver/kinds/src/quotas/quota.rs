//! ResourceQuotas.

use std::collections::BTreeSet;

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{invalid, list, required, text};
use crate::pods::resources;
use crate::strategy::rules::{NONE, Rules};

/// `v1` ResourceQuota.
pub(crate) const QUOTA: Rules = Rules {
    validate: |quota| {
        let spec = &quota["spec"];
        let mut errors = amounts(&spec["hard"], "spec.hard");
        scopes(spec, &mut errors);
        selector(spec, &mut errors);
        errors
    },
    immutable: |quota, old| {
        let (now, before) = (&quota["spec"]["scopes"], &old["spec"]["scopes"]);
        let sorted = |scopes: &Value| {
            let mut texts: Vec<String> = scopes
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|scope| scope.as_str().map(str::to_owned))
                .collect();
            texts.sort_unstable();
            texts
        };
        if sorted(now) == sorted(before) {
            return Vec::new();
        }
        vec![invalid("spec.scopes", now.clone(), "field is immutable")]
    },
    status: Some(|quota, _| {
        let status = &quota["status"];
        let mut errors = amounts(&status["hard"], "status.hard");
        errors.extend(amounts(&status["used"], "status.used"));
        errors
    }),
    ..NONE
};

/// Resource names without a domain that a quota does not support.
const NOT_FOR_QUOTAS: [&str; 1] = ["storage"];

pub(crate) fn amounts(found: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, amount) in found.as_object().into_iter().flatten() {
        let path = format!("{path}[{name}]");
        let named = resources::name(name, &path);
        let standard = named.is_empty() && !NOT_FOR_QUOTAS.contains(&name.as_str());
        errors.extend(named);
        if !name.contains('/') && !standard {
            errors.push(invalid(path.clone(), name.as_str(), "must be a standard resource for quota"));
        }
        errors.extend(resources::amount(name, amount, &path));
    }
    errors
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
/// Pairs of scopes that exclude each other.
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
/// Resources of pods that quotas count.
const OF_PODS: [&str; 7] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"];

/// Returns whether a quota with a scope can count a resource.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => {
            OF_PODS.contains(&resource) || resource.ends_with("ephemeral-storage")
        }
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
                || resource.contains("storageclass")
        }
        _ => true,
    }
}

fn scopes(spec: &Value, errors: &mut Vec<FieldError>) {
    let path = "spec.scopes";
    let scopes: Vec<&str> = list(spec, "scopes").iter().filter_map(Value::as_str).collect();
    let hard = spec["hard"].as_object().cloned().unwrap_or_default();
    let shown = || spec["scopes"].clone();
    // Each error contains all scopes, so one error stands for all unknown scopes.
    if scopes.iter().any(|scope| !SCOPES.contains(scope)) {
        errors.push(invalid(path, shown(), "unsupported scope"));
    }
    // A scope that is listed several times causes one error.
    for scope in scopes.iter().copied().collect::<BTreeSet<_>>() {
        if hard.keys().any(|resource| SCOPES.contains(&scope) && !fits(scope, resource)) {
            errors.push(invalid(path, shown(), "unsupported scope applied to resource"));
        }
    }
    for pair in OPPOSITES {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.push(invalid(path, shown(), "conflicting scopes"));
        }
    }
}

fn selector(spec: &Value, errors: &mut Vec<FieldError>) {
    let path = "spec.scopeSelector.matchExpressions";
    let hard = spec["hard"].as_object().cloned().unwrap_or_default();
    let requirements = list(&spec["scopeSelector"], "matchExpressions");
    let mut seen = BTreeSet::new();
    for requirement in requirements {
        let (scope, operator) = (text(requirement, "scopeName"), text(requirement, "operator"));
        if !SCOPES.contains(&scope) {
            errors.push(invalid(format!("{path}.scopeName"), scope, "unsupported scope"));
        }
        let first = !seen.contains(scope) && SCOPES.contains(&scope);
        seen.insert(scope);
        if hard.keys().any(|resource| first && !fits(scope, resource)) {
            let why = "unsupported scope applied to resource";
            errors.push(invalid("spec.scopeSelector", Value::Null, why));
        }
        let named = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if !named && SCOPES.contains(&scope) && operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                       ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                       ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(invalid(format!("{path}.operator"), operator, why));
        }
        let values = list(requirement, "values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector";
                errors.push(invalid(format!("{path}.values"), values.to_vec(), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                errors.push(invalid(format!("{path}.operator"), other, "not a valid selector operator"));
            }
        }
    }
}
