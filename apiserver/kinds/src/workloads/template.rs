//! Validation and defaults that all workloads share: pod template, selector, rolling update.

use std::collections::BTreeSet;

use machinery::field::FieldError;
use machinery::meta;
use machinery::names::validate_labels;
use machinery::selector::LabelSelector;
use serde_json::{Map, Value, json};

use crate::fields::{forbidden, invalid, required};
use crate::pods::spec::validate_spec;

/// Refuses a percentage above 100.
pub(crate) fn at_most_all(amount: &Value, path: &str) -> Option<FieldError> {
    let percent = amount.as_str()?.strip_suffix('%')?.parse::<u64>().ok()?;
    (percent > 100).then(|| invalid(path, amount.clone(), "must not be greater than 100%"))
}

/// Copies the labels of the pod template to an object without labels.
pub(crate) fn labels_of_template(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let none = metadata.get("labels").and_then(Value::as_object).is_none_or(Map::is_empty);
    if none && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        metadata.insert("labels".into(), labels);
    }
}

/// Sets the defaults of a rolling update. With another strategy, missing numbers of a given `rollingUpdate` become 0.
pub(crate) fn rolling(strategy: &mut Value, defaults: &Value) {
    let zeros = strategy["type"] != "RollingUpdate";
    let Some(strategy) = strategy.as_object_mut() else { return };
    if zeros {
        // The numbers have no effect with this strategy.
        let Some(found) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) else { return };
        for name in defaults.as_object().into_iter().flatten().map(|(name, _)| name) {
            found.entry(name).or_insert_with(|| 0.into());
        }
        return;
    }
    let found = strategy.entry("rollingUpdate").or_insert_with(|| Value::Object(Map::new()));
    let Some(found) = found.as_object_mut() else { return };
    for (name, value) in defaults.as_object().into_iter().flatten() {
        found.entry(name).or_insert_with(|| value.clone());
    }
}

pub(crate) fn validate(object: &Value, kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (spec, path) = (&object["spec"], "spec.selector");
    let (selector, template) = (&spec["selector"], &spec["template"]);
    if selector.is_null() {
        if kind != "daemonset" {
            errors.push(required(path, ""));
        }
    } else if selector.as_object().is_none_or(Map::is_empty) {
        errors.push(invalid(path, selector.clone(), format!("empty selector is invalid for {kind}")));
    }
    let labels = &template["metadata"]["labels"];
    errors.extend(validate_labels(Some(labels), "spec.template.labels"));
    match LabelSelector::from_object(selector) {
        Err(_) if kind == "daemonset" => {}
        Err(_) => errors
            .push(unreadable(selector, if kind == "statefulset" { "" } else { "invalid label selector" })),
        Ok(parsed) => {
            // A missing selector matches nothing.
            if selector.is_null() || (!parsed.is_empty() && !parsed.matches(labels.as_object())) {
                let why = "`selector` does not match template `labels`";
                errors.push(invalid("spec.template.metadata.labels", labels.clone(), why));
            }
        }
    }
    let shown = match kind {
        "daemonset" => "DaemonSet",
        "statefulset" => "",
        _ => "ReplicaSet",
    };
    errors.extend(of_template(spec, shown));
    errors
}

/// Validates the pod template of a workload. `kind` is the kind in the error about `activeDeadlineSeconds`, or empty if
/// the workload supports that field.
pub(crate) fn of_template(spec: &Value, kind: &str) -> Vec<FieldError> {
    let mut template = spec["template"].clone();
    let path = "spec.template.spec";
    claims(spec, &mut template["spec"]);
    let mut errors = validate_spec(&template["spec"], path);
    let pod = &template["spec"];
    if pod["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(forbidden(format!("{path}.ephemeralContainers"), why));
    }
    let policy = &pod["restartPolicy"];
    if policy.is_string() && policy != "Always" {
        let field = format!("{path}.restartPolicy");
        errors.push(FieldError::not_supported(field, policy, &["Always".into()]));
    }
    if !pod["activeDeadlineSeconds"].is_null() && !kind.is_empty() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(forbidden(format!("{path}.activeDeadlineSeconds"), why));
    }
    errors
}

/// Adds the claim templates of a StatefulSet to the volumes of its pods, so that mounts of these claims are valid.
pub(crate) fn claims(spec: &Value, pod: &mut Value) {
    let templates = spec["volumeClaimTemplates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut volumes: Vec<Value> = Vec::new();
    let mut names = BTreeSet::new();
    for claim in templates {
        let name = &claim["metadata"]["name"];
        if !names.insert(name.to_string()) {
            continue;
        }
        volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": "claim"}}));
    }
    if !templates.is_empty() {
        let own = pod["volumes"].as_array().cloned().unwrap_or_default();
        let kept = own.into_iter().filter(|one| !names.contains(&one["name"].to_string()));
        let kept: Vec<Value> = kept.collect();
        volumes.extend(kept);
        pod["volumes"] = volumes.into();
    }
}

/// Returns the error for a selector that cannot be parsed, which contains its fields in the order of the Go type.
fn unreadable(selector: &Value, why: &str) -> FieldError {
    let parts = ["matchLabels", "matchExpressions"].into_iter().filter(|part| !selector[*part].is_null());
    let parts: Vec<String> = parts.map(|part| format!("\"{part}\":{}", selector[part])).collect();
    let mut error = invalid("spec.selector", Value::Null, why);
    error.value = Some(format!("{{{}}}", parts.join(",")));
    error
}

pub(crate) fn is_zero(amount: &Value) -> bool {
    amount.is_null() || *amount == 0 || *amount == "0%"
}

pub(crate) fn same_selector(object: &Value, old: &Value) -> Vec<FieldError> {
    let (new, old) = (&object["spec"]["selector"], &old["spec"]["selector"]);
    if new == old {
        return Vec::new();
    }
    vec![invalid("spec.selector", new.clone(), "field is immutable")]
}
