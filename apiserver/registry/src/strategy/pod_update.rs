//! What an update may change of a pod.

use std::collections::HashSet;

use machinery::field::FieldError;
use serde_json::Value;

use super::default::{forbidden, invalid, required};

const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                   (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                   (allow it to be set to 1 if it was previously negative)";

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

fn list<'v>(spec: &'v Value, name: &str) -> &'v [Value] {
    spec[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Of the spec of a pod few fields can change. A real server shows the difference of its internal types, too.
pub(super) fn kept(pod: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before) = (&pod["spec"], &old["spec"]);
    let mut errors = Vec::new();
    for name in CONTAINERS {
        if containers(now, before, name, &mut errors) {
            return errors;
        }
    }
    if deadline(&now["activeDeadlineSeconds"], &before["activeDeadlineSeconds"], &mut errors) {
        return errors;
    }
    let without_seconds = |toleration: &Value| {
        let mut without = toleration.clone();
        without["tolerationSeconds"] = Value::Null;
        without
    };
    let tolerations: HashSet<Value> = list(now, "tolerations").iter().map(without_seconds).collect();
    if !list(before, "tolerations").iter().all(|before| tolerations.contains(&without_seconds(before))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(forbidden("spec.tolerations", why));
    }
    let gates: HashSet<&Value> = list(before, "schedulingGates").iter().collect();
    for (index, gate) in list(now, "schedulingGates").iter().enumerate() {
        if !gates.contains(gate) {
            let name = gate["name"].as_str().unwrap_or_default();
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.push(forbidden(format!("spec.schedulingGates[{index}].name"), why));
        }
    }
    let gated = !list(before, "schedulingGates").is_empty();
    if gated {
        selector(&now["nodeSelector"], &before["nodeSelector"], &mut errors);
    }
    if rest(now, before, gated) != rest(before, before, gated) {
        errors.push(forbidden("spec", WHY));
    }
    errors
}

/// True when nothing else need be looked at.
fn containers(now: &Value, before: &Value, name: &str, errors: &mut Vec<FieldError>) -> bool {
    if list(now, name).len() != list(before, name).len() {
        errors.push(forbidden(format!("spec.{name}"), "pod updates may not add or remove containers"));
        return true;
    }
    for (index, container) in list(now, name).iter().enumerate() {
        if container["image"].as_str().is_none_or(|image| image.trim().is_empty()) {
            errors.push(required(format!("spec.{name}[{index}].image"), ""));
        }
    }
    false
}

/// True when nothing else need be looked at.
fn deadline(now: &Value, before: &Value, errors: &mut Vec<FieldError>) -> bool {
    const FIELD: &str = "spec.activeDeadlineSeconds";
    let Some(seconds) = now.as_i64() else {
        if !before.is_null() {
            errors.push(invalid(FIELD, Value::Null, "must not update from a positive integer to nil value"));
        }
        return false;
    };
    if !(0..=i64::from(i32::MAX)).contains(&seconds) {
        let why = format!("must be between 0 and {}, inclusive", i32::MAX);
        errors.push(invalid(FIELD, seconds, why));
        return true;
    }
    if before.as_i64().is_some_and(|before| before < seconds) {
        errors.push(invalid(FIELD, seconds, "must be less than or equal to previous value"));
        return true;
    }
    false
}

/// Pods that wait for their gates can be given to fewer nodes.
fn selector(now: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let kept = before.as_object().into_iter().flatten().all(|(key, value)| now[key] == *value);
    if !kept {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(invalid("spec.nodeSelector", now.clone(), why));
    }
}

/// What an update may not touch.
fn rest(spec: &Value, before: &Value, gated: bool) -> Value {
    let mut spec = spec.clone();
    for name in CONTAINERS {
        for container in spec.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten() {
            container["image"] = Value::Null;
        }
    }
    let shortened = before["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0)
        && spec["terminationGracePeriodSeconds"] == 1;
    if let Some(spec) = spec.as_object_mut() {
        let open = |name: &str| match name {
            "activeDeadlineSeconds" | "tolerations" | "schedulingGates" => true,
            "terminationGracePeriodSeconds" => shortened,
            "nodeSelector" => gated,
            _ => false,
        };
        spec.retain(|name, value| !open(name) && !crate::decode::empty(value));
        if shortened {
            spec.remove("terminationGracePeriodSeconds");
        }
    }
    spec
}
