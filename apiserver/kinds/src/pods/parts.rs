//! Updates of a pod through `/ephemeralcontainers` and `/resize`, which change only the fields of that subresource.

use std::collections::BTreeMap;

use machinery::field::FieldError;
use serde_json::Value;

use super::account::is_mirror;
use super::requests::quality;
use crate::fields::{forbidden, invalid};
use crate::subresource::Subresource;

fn list<'v>(pod: &'v Value, name: &str) -> &'v [Value] {
    pod["spec"][name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Restores everything of the old pod except the fields of the subresource.
pub(crate) fn prepare(part: Subresource, pod: &mut Value, old: &Value, _: &str) {
    match part {
        Subresource::EphemeralContainers => {
            let asked = pod["spec"]["ephemeralContainers"].take();
            restore(pod, old);
            if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove("ephemeralContainers");
                spec.extend((!asked.is_null()).then(|| ("ephemeralContainers".to_owned(), asked)));
            }
        }
        Subresource::Resize => {
            let groups = ["containers", "initContainers"];
            if groups.iter().any(|group| list(pod, group).len() != list(old, group).len()) {
                // Validation refuses a different number of containers.
                return;
            }
            let asked = groups.map(|group| resized(list(pod, group), list(old, group)));
            let whole = pod["spec"].get("resources").cloned();
            restore(pod, old);
            for (group, asked) in groups.iter().zip(asked).filter(|(_, asked)| !asked.is_empty()) {
                pod["spec"][*group] = asked.into();
            }
            if let Some(spec) = pod["spec"].as_object_mut() {
                spec.remove("resources");
                spec.extend(whole.map(|whole| ("resources".to_owned(), whole)));
            }
        }
        _ => {}
    }
}

/// Returns the old containers with the requested `resources` and `resizePolicy`. If names differ, it returns the
/// requested containers, which validation then refuses.
fn resized(asked: &[Value], old: &[Value]) -> Vec<Value> {
    if asked.iter().zip(old).any(|(asked, old)| asked["name"] != old["name"]) {
        return asked.to_vec();
    }
    let one = |(asked, old): (&Value, &Value)| {
        let mut made = old.clone();
        for field in ["resources", "resizePolicy"] {
            match (made.as_object_mut(), asked.get(field)) {
                (Some(made), Some(value)) => {
                    made.insert(field.to_owned(), value.clone());
                }
                (Some(made), None) => {
                    made.remove(field);
                }
                _ => {}
            }
        }
        made
    };
    asked.iter().zip(old).map(one).collect()
}

/// Restores spec, status, and the fields of `metadata` that clients write.
fn restore(pod: &mut Value, old: &Value) {
    for part in ["spec", "status"] {
        pod[part] = old[part].clone();
    }
    let Some(metadata) = machinery::meta::metadata_mut(pod) else { return };
    for field in ["labels", "annotations", "finalizers", "ownerReferences", "generateName"] {
        match old["metadata"].get(field) {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

/// Validates an update through one of the subresources.
pub(crate) fn validate(part: Subresource, pod: &Value, old: &Value) -> Vec<FieldError> {
    match part {
        Subresource::EphemeralContainers => added(pod, old),
        Subresource::Resize => resize(pod, old),
        _ => Vec::new(),
    }
}

/// Requires that existing ephemeral containers are neither removed nor changed.
fn added(pod: &Value, old: &Value) -> Vec<FieldError> {
    const FIELD: &str = "spec.ephemeralContainers";
    if is_mirror(old) {
        return vec![forbidden("[]", "static pods do not support ephemeral containers")];
    }
    let mut errors = Vec::new();
    // If several containers have the same name, kube-apiserver compares the last one.
    let named = |one: &'_ Value| one["name"].as_str().unwrap_or_default().to_owned();
    let now: BTreeMap<String, &Value> =
        list(pod, "ephemeralContainers").iter().map(|one| (named(one), one)).collect();
    for before in list(old, "ephemeralContainers") {
        let name = before["name"].as_str().unwrap_or_default();
        match now.get(name) {
            None => {
                let why = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.push(forbidden(FIELD, why));
            }
            Some(now) if *now != before => {
                let why = format!("existing ephemeral containers {name:?} may not be changed\n");
                errors.push(forbidden(FIELD, why));
            }
            Some(_) => {}
        }
    }
    errors
}

/// Validates a resize: it may change CPU and memory, but not the QoS class, and may not remove a request or limit.
fn resize(pod: &Value, old: &Value) -> Vec<FieldError> {
    const MUTABLE: &str = "only cpu and memory resources are mutable";
    if is_mirror(old) {
        return vec![forbidden("[]", "static pods cannot be resized")];
    }
    if old["spec"]["os"]["name"] == "windows" {
        return vec![forbidden("[]", "windows pods cannot be resized")];
    }
    let mut errors = Vec::new();
    let class = old["status"]["qosClass"].as_str().unwrap_or_else(|| quality(&old["spec"]));
    if class != quality(&pod["spec"]) {
        let why = "Pod QOS Class may not change as a result of resizing";
        errors.push(invalid("spec", pod["status"]["qosClass"].clone(), why));
    }
    let order = ordered(pod, old);
    if !order.is_empty() {
        errors.extend(order);
        return errors;
    }
    for group in ["initContainers", "containers"] {
        for (index, (now, before)) in list(pod, group).iter().zip(list(old, group)).enumerate() {
            check_resize(now, before, &format!("spec.{group}[{index}]"), &mut errors);
        }
    }
    for group in ["containers", "initContainers"] {
        for (index, (now, before)) in list(pod, group).iter().zip(list(old, group)).enumerate() {
            if fixed(now) == fixed(before) {
                continue;
            }
            errors.push(match group {
                "containers" => forbidden("spec", MUTABLE),
                _ => forbidden(
                    format!("spec.initContainers[{index}]"),
                    "only cpu and memory resources for init or sidecar containers are mutable",
                ),
            });
        }
    }
    if errors.is_empty() && pod["spec"]["resources"] != old["spec"]["resources"] {
        errors.push(forbidden("spec", MUTABLE));
    }
    errors
}

fn ordered(pod: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for group in ["containers", "initContainers"] {
        let (now, before) = (list(pod, group), list(old, group));
        if now.len() != before.len() {
            let why = format!("{group} may not be added or removed on resize");
            errors.push(forbidden(format!("spec.{group}"), why));
            continue;
        }
        for index in (0..now.len()).filter(|index| now[*index]["name"] != before[*index]["name"]) {
            let why = format!("{group} may not be renamed or reordered on resize");
            errors.push(forbidden(format!("spec.{group}[{index}].name"), why));
        }
    }
    errors
}

/// Requires that no request or limit of the container is removed.
fn check_resize(now: &Value, before: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (field, what) in [("requests", "requests"), ("limits", "limits")] {
        let of = |one: &Value| one["resources"][field].as_object().cloned().unwrap_or_default();
        let kept = of(now);
        if of(before).keys().any(|name| !kept.contains_key(name)) {
            let why = format!("resource {what} cannot be removed");
            errors.push(forbidden(format!("{path}.resources.{field}"), why));
        }
    }
}

/// Returns the container without its CPU and memory amounts and without empty fields.
fn fixed(container: &Value) -> Value {
    let mut fixed = container.clone();
    for field in ["requests", "limits"] {
        let Some(resources) = fixed["resources"].as_object_mut() else { break };
        if let Some(amounts) = resources.get_mut(field).and_then(Value::as_object_mut) {
            amounts.retain(|name, _| !matches!(name.as_str(), "cpu" | "memory"));
        }
        if resources.get(field).is_some_and(crate::decode::empty) {
            resources.remove(field);
        }
    }
    if let Some(map) = fixed.as_object_mut() {
        map.retain(|_, value| !crate::decode::empty(value));
    }
    fixed
}
