//! What Pods want of Nodes and of each other, by the rules of Kubernetes' scheduler. Pure functions.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    NodeSelectorRequirement, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec, Taint, Toleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use super::view::Candidate;

/// The label of a namespace with its name, which each namespace has.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Returns whether a Pod's node selector and required node affinity select a Node.
pub(super) fn selects_node(spec: &PodSpec, name: &str, node: &Candidate) -> bool {
    let selector = spec.node_selector.iter().flatten();
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let fits = |term: &NodeSelectorTerm| {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        // A term that says nothing selects nothing.
        !(expressions.is_empty() && fields.is_empty())
            && expressions.iter().all(|one| holds(one, node.labels.get(&one.key).map(String::as_str)))
            && fields.iter().all(|one| holds(one, (one.key == "metadata.name").then_some(name)))
    };
    selector.into_iter().all(|(key, value)| node.labels.get(key) == Some(value))
        && required.is_none_or(|required| required.node_selector_terms.iter().any(fits))
}

fn holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    is_met(&requirement.operator, requirement.values.as_deref().unwrap_or_default(), value)
}

fn is_met(operator: &str, values: &[String], value: Option<&str>) -> bool {
    let is_listed = || value.is_some_and(|value| values.iter().any(|one| one == value));
    let numbers = || Some((value?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match operator {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

/// Returns whether a Pod tolerates all taints of a Node with one of these effects.
pub(super) fn tolerates(tolerations: &[Toleration], node: &Candidate, effects: &[&str]) -> bool {
    let mut taints = node.spec.taints.iter().flatten();
    taints.all(|taint| {
        !effects.contains(&taint.effect.as_str())
            || tolerations.iter().any(|toleration| tolerates_taint(toleration, taint))
    })
}

/// Returns whether a toleration covers a taint.
pub(super) fn tolerates_taint(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (key, effect) = (given(&toleration.key), given(&toleration.effect));
    if effect.is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    let is_key = key.as_ref().is_none_or(|key| *key == taint.key);
    match given(&toleration.operator).as_deref() {
        None | Some("Equal") => is_key && key.is_some() && given(&toleration.value) == given(&taint.value),
        Some("Exists") => is_key,
        _ => false,
    }
}

/// Returns whether a selector selects labels. Without one, nothing is selected. There may be many Pods, so the selector is not parsed anew.
fn selects(selector: Option<&LabelSelector>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return false };
    let mut wanted = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    wanted.all(|(key, value)| labels.get(key) == Some(value))
        && expressions.all(|one| {
            let value = labels.get(&one.key).map(String::as_str);
            is_met(&one.operator, one.values.as_deref().unwrap_or_default(), value)
        })
}

/// Returns whether a term of `pod` means `other`.
pub(super) fn means(pod: &Pod, term: &PodAffinityTerm, other: &Pod) -> bool {
    let namespace = other.namespace().unwrap_or_default();
    let named = term.namespaces.as_deref().unwrap_or_default();
    let is_there = match &term.namespace_selector {
        None if named.is_empty() => pod.namespace().unwrap_or_default() == namespace,
        None => named.contains(&namespace),
        Some(selector) => {
            named.contains(&namespace)
                || selects(Some(selector), &[(NAMESPACE_NAME.to_owned(), namespace.clone())].into())
        }
    };
    is_there && selects(term.label_selector.as_ref(), other.labels())
}

/// Returns the terms about Pods beside which a Pod must be.
pub(super) fn wanted(pod: &Pod) -> &[PodAffinityTerm] {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.pod_affinity.as_ref());
    let terms = affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_deref());
    terms.unwrap_or_default()
}

/// Returns the terms about Pods beside which a Pod must not be.
pub(super) fn avoided(pod: &Pod) -> &[PodAffinityTerm] {
    let affinity = pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.pod_anti_affinity.as_ref());
    let terms = affinity.and_then(|one| one.required_during_scheduling_ignored_during_execution.as_deref());
    terms.unwrap_or_default()
}
