//! Validation of affinities, tolerations and topology spread constraints, as kube-apiserver does it.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::{dns1123_label, dns1123_subdomain, label_value, qualified_name};
use serde_json::{Value, json};

use crate::fields::{forbidden, invalid, list, required};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Validates affinities, tolerations and topology spread constraints of the pod spec at `path`.
pub(crate) fn check(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let affinity = &spec["affinity"];
    let nodes = &affinity["nodeAffinity"];
    let at = format!("{path}.affinity.nodeAffinity");
    if nodes[REQUIRED].is_object() {
        node_selector(&nodes[REQUIRED], &format!("{at}.{REQUIRED}"), errors);
    }
    for (index, term) in list(nodes, PREFERRED).iter().enumerate() {
        let at = format!("{at}.{PREFERRED}[{index}]");
        weight(term, &at, errors);
        node_term(&term["preference"], &format!("{at}.preference"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let at = format!("{path}.affinity.{kind}");
        for (index, term) in list(&affinity[kind], REQUIRED).iter().enumerate() {
            pod_term(term, &format!("{at}.{REQUIRED}[{index}]"), errors);
        }
        for (index, term) in list(&affinity[kind], PREFERRED).iter().enumerate() {
            let at = format!("{at}.{PREFERRED}[{index}]");
            weight(term, &at, errors);
            pod_term(&term["podAffinityTerm"], &format!("{at}.podAffinityTerm"), errors);
        }
    }
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        tolerates(toleration, &format!("{path}.tolerations[{index}]"), errors);
    }
    let spreads = list(spec, "topologySpreadConstraints");
    let what = |one: &Value| ["topologyKey", "whenUnsatisfiable"].map(|field| one[field].to_string());
    let last: BTreeMap<_, _> = spreads.iter().enumerate().map(|(index, one)| (what(one), index)).collect();
    for (index, constraint) in spreads.iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{index}]");
        let again = last.get(&what(constraint)).is_some_and(|last| *last > index);
        spread(constraint, again, &path, errors);
    }
}

fn weight(term: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let weight = term["weight"].as_i64().unwrap_or(0);
    if !(1..=100).contains(&weight) {
        errors.push(invalid(format!("{path}.weight"), weight, "must be in the range 1-100"));
    }
}

/// Validates a pod affinity term.
fn pod_term(term: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in list(term, "namespaces").iter().filter_map(Value::as_str) {
        let problems = dns1123_label(name);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.namespace"), name, why)));
    }
    label_keys(term, path, errors);
}

/// Validates a topology spread constraint. `again` is true if a later constraint has the same key and action.
fn spread(constraint: &Value, again: bool, path: &str, errors: &mut Vec<FieldError>) {
    let text = |field: &str| constraint[field].as_str().unwrap_or_default();
    let number = |field: &str| constraint[field].as_i64();
    let (key, action) = (text("topologyKey"), text("whenUnsatisfiable"));
    let positive = |field: &str, value: Option<i64>| {
        let why = "must be greater than zero";
        value.filter(|value| *value <= 0).map(|value| invalid(format!("{path}.{field}"), value, why))
    };
    errors.extend(positive("maxSkew", Some(number("maxSkew").unwrap_or(0))));
    if key.is_empty() {
        errors.push(required(format!("{path}.topologyKey"), "can not be empty"));
    }
    let mut known = |field: &str, value: &str, allowed: [&str; 2]| {
        if !allowed.contains(&value) {
            let field = format!("{path}.{field}");
            errors.push(FieldError::not_supported(field, &value.into(), &allowed.map(Value::from)));
        }
    };
    known("whenUnsatisfiable", action, ["DoNotSchedule", "ScheduleAnyway"]);
    for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        if let Some(policy) = constraint[field].as_str() {
            known(field, policy, ["Honor", "Ignore"]);
        }
    }
    if again {
        let field = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
        let shown = format!("{{{key}, {action}}}");
        errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &shown.into(), ""));
    }
    errors.extend(positive("minDomains", number("minDomains")));
    if let Some(domains) = number("minDomains").filter(|_| action != "DoNotSchedule") {
        let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.push(invalid(format!("{path}.minDomains"), domains, why));
    }
    label_keys(constraint, path, errors);
}

/// Validates `matchLabelKeys` and `mismatchLabelKeys`, which add labels of the pod itself to the selector.
fn label_keys(holder: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const LISTS: [&str; 2] = ["matchLabelKeys", "mismatchLabelKeys"];
    let selector = &holder["labelSelector"];
    for field in LISTS {
        let keys = list(holder, field);
        if !keys.is_empty() && selector.is_null() {
            let why = "must not be specified when labelSelector is not set";
            errors.push(forbidden(format!("{path}.{field}"), why));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            let key = key.as_str().unwrap_or_default();
            let at = format!("{path}.{field}[{index}]");
            errors.extend(qualified_name(key).into_iter().map(|why| invalid(at.clone(), key, why)));
        }
    }
    let texts = |field: &str| {
        list(holder, field).iter().enumerate().filter_map(|(at, key)| Some((key.as_str()?, at)))
    };
    let keys: BTreeMap<&str, usize> = texts("matchLabelKeys").collect();
    let others: BTreeSet<&str> = texts("mismatchLabelKeys").map(|(key, _)| key).collect();
    let labels = selector["matchLabels"].as_object();
    let mut known: BTreeSet<&str> = labels.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    for key in list(selector, "matchExpressions").iter().filter_map(|one| one["key"].as_str()) {
        if let Some(index) = keys.get(key).filter(|_| known.contains(key)) {
            let why = "exists in both matchLabelKeys and labelSelector";
            errors.push(invalid(format!("{path}[{index}]"), key, why));
        }
        known.insert(key);
    }
    for (key, index) in texts("matchLabelKeys").filter(|(key, _)| others.contains(key)) {
        let why = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(invalid(format!("{path}.matchLabelKeys[{index}]"), key, why));
    }
}

/// Adds the labels that `matchLabelKeys` and `mismatchLabelKeys` name to the selectors of a new pod.
pub(crate) fn merge_label_keys(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    let Some(spec) = pod.get_mut("spec") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get_mut("affinity").and_then(|affinity| affinity.get_mut(kind)) else {
            continue;
        };
        for term in affinity.get_mut(REQUIRED).and_then(Value::as_array_mut).into_iter().flatten() {
            merge_into(term, &labels);
        }
        for term in affinity.get_mut(PREFERRED).and_then(Value::as_array_mut).into_iter().flatten() {
            merge_into(&mut term["podAffinityTerm"], &labels);
        }
    }
    let spreads = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    spreads.into_iter().flatten().for_each(|constraint| merge_into(constraint, &labels));
}

fn merge_into(holder: &mut Value, labels: &Value) {
    if holder["labelSelector"].is_null() {
        return;
    }
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in list(holder, field).to_vec() {
            let Some(value) = key.as_str().and_then(|key| labels.get(key)).cloned() else { continue };
            let expressions = &mut holder["labelSelector"]["matchExpressions"];
            if !expressions.is_array() {
                *expressions = json!([]);
            }
            if let Some(expressions) = expressions.as_array_mut() {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
}

/// Validates a node selector.
pub(crate) fn node_selector(selector: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let why = "must have at least one node selector term";
        errors.push(required(format!("{path}.nodeSelectorTerms"), why));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, &format!("{path}.nodeSelectorTerms[{index}]"), errors);
    }
}

fn node_term(term: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (at, requirement) in list(term, "matchExpressions").iter().enumerate() {
        requires(requirement, &format!("{path}.matchExpressions[{at}]"), errors);
    }
    for (at, requirement) in list(term, "matchFields").iter().enumerate() {
        requires_field(requirement, &format!("{path}.matchFields[{at}]"), errors);
    }
}

/// Validates a requirement in `matchFields`, which supports `metadata.name` and one value only.
fn requires_field(requirement: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let text = |field: &str| requirement[field].as_str().unwrap_or_default();
    let values = list(requirement, "values");
    match text("operator") {
        "In" | "NotIn" if values.len() != 1 => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(required(format!("{path}.values"), why));
        }
        "In" | "NotIn" => {}
        other => errors.push(invalid(format!("{path}.operator"), other, "not a valid selector operator")),
    }
    if text("key") != "metadata.name" {
        errors.push(invalid(format!("{path}.key"), text("key"), "not a valid field selector key"));
        return;
    }
    for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
        let problems = dns1123_subdomain(value);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.values[{index}]"), value, why)));
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

/// Validates a toleration.
pub(crate) fn tolerates(toleration: &Value, path: &str, errors: &mut Vec<FieldError>) {
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
    let value = text("value");
    let at = format!("{path}.operator");
    match operator {
        "Exists" if !value.is_empty() => {
            errors.push(invalid(at, value, "value must be empty when `operator` is 'Exists'"));
        }
        "" | "Equal" => {
            let problems = label_value(value);
            if !problems.is_empty() {
                errors.push(invalid(at, value, problems.join(";")));
            }
        }
        "Exists" => {}
        "Lt" | "Gt" => {
            let allowed = ["Equal", "Exists", "Lt", "Gt"].map(Value::from);
            errors.push(FieldError::not_supported(at, &operator.into(), &allowed));
        }
        _ => {
            let allowed = ["Equal", "Exists"].map(Value::from);
            errors.push(FieldError::not_supported(at, &operator.into(), &allowed));
        }
    }
}
