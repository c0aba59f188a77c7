//! The scopes of quotas: which pods and claims a quota is about.

use serde_json::Value;

use crate::fields::{list, text};
use crate::pods::requests;

/// Returns whether a quota has scopes. One with scopes is about pods and claims alone.
pub(super) fn has_scopes(quota: &Value) -> bool {
    requirements(quota).next().is_some()
}

/// Returns scope, operator and values of each requirement of a quota.
fn requirements(quota: &Value) -> impl Iterator<Item = (&str, &str, &[Value])> {
    let scopes = list(&quota["spec"], "scopes").iter().filter_map(Value::as_str);
    let none: &[Value] = &[];
    let expressions = list(&quota["spec"]["scopeSelector"], "matchExpressions").iter();
    scopes
        .map(move |scope| (scope, "Exists", none))
        .chain(expressions.map(|one| (text(one, "scopeName"), text(one, "operator"), list(one, "values"))))
}

/// Returns whether a pod is in all scopes of a quota.
pub(super) fn has_pod(quota: &Value, pod: &Value) -> bool {
    let spec = &pod["spec"];
    let is_best_effort = || match text(&pod["status"], "qosClass") {
        "" => requests::quality(spec) == "BestEffort",
        class => class == "BestEffort",
    };
    requirements(quota).all(|(scope, operator, values)| match scope {
        "Terminating" => is_terminating(pod),
        "NotTerminating" => !is_terminating(pod),
        "BestEffort" => is_best_effort(),
        "NotBestEffort" => !is_best_effort(),
        "PriorityClass" => selects(operator, values, &[text(spec, "priorityClassName")]),
        "CrossNamespacePodAffinity" => {
            ["podAffinity", "podAntiAffinity"].iter().any(|field| leaves_namespace(&spec["affinity"][field]))
        }
        _ => false,
    })
}

/// Returns whether a claim is in all scopes of a quota.
pub(super) fn has_claim(quota: &Value, claim: &Value) -> bool {
    let classes = [
        text(&claim["spec"], "volumeAttributesClassName"),
        text(&claim["status"], "currentVolumeAttributesClassName"),
        text(&claim["status"]["modifyVolumeStatus"], "targetVolumeAttributesClassName"),
    ];
    requirements(quota).all(|(scope, operator, values)| {
        scope == "VolumeAttributesClass" && selects(operator, values, &classes)
    })
}

/// Returns whether a pod has a deadline.
pub(super) fn is_terminating(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0)
}

/// Returns whether a requirement selects one of these classes. Empty ones do not exist.
fn selects(operator: &str, values: &[Value], classes: &[&str]) -> bool {
    let found: Vec<&str> = classes.iter().copied().filter(|class| !class.is_empty()).collect();
    let is_listed = |class: &&str| values.iter().any(|value| value == *class);
    match operator {
        "Exists" => !found.is_empty(),
        "DoesNotExist" => found.is_empty(),
        "In" => found.iter().any(is_listed),
        "NotIn" => found.is_empty() || found.iter().any(|class| !is_listed(class)),
        _ => false,
    }
}

fn leaves_namespace(affinity: &Value) -> bool {
    let required = list(affinity, "requiredDuringSchedulingIgnoredDuringExecution").iter();
    let preferred = list(affinity, "preferredDuringSchedulingIgnoredDuringExecution").iter();
    let mut terms = required.chain(preferred.map(|weighted| &weighted["podAffinityTerm"]));
    terms.any(|term| !list(term, "namespaces").is_empty() || !term["namespaceSelector"].is_null())
}
