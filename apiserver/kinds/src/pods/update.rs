//! The changes of a pod that an update may make.

use std::collections::HashSet;

use crate::types;
use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{forbidden, invalid, required};

const WHY: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                   (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                   (allow it to be set to 1 if it was previously negative)";

const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

fn list<'v>(spec: &'v Value, name: &str) -> &'v [Value] {
    spec[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns errors for changes of a pod's spec, of which few fields are mutable. The error lists the other differences.
pub(crate) fn kept(pod: &Value, old: &Value) -> Vec<FieldError> {
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
        let nodes = |spec: &Value| spec["affinity"]["nodeAffinity"].clone();
        if nodes(now) != nodes(before) {
            placement(&nodes(now), &nodes(before), &mut errors);
        }
    }
    let left = rest(now, before, gated);
    let ty = "core.PodSpec";
    if !types::same(ty, &left, before) {
        let changes = types::changes(ty, before, &left);
        errors.push(forbidden("spec", format!("{WHY}\n{changes}")));
    }
    errors
}

/// Requires that an update of a gated pod only narrows its required node affinity.
fn placement(now: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let path = format!("spec.affinity.nodeAffinity.{REQUIRED}");
    let terms = |affinity: &Value| affinity[REQUIRED]["nodeSelectorTerms"].as_array().cloned();
    let Some(old) = terms(before).filter(|_| before[REQUIRED].is_object()) else { return };
    let new = terms(now).unwrap_or_default();
    let at = format!("{path}.nodeSelectorTerms");
    if !old.is_empty() && new.len() != old.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let mut error = invalid(at, Value::Null, why);
        error.value = Some(types::shown("?[]core.NodeSelectorTerm", &new.into()));
        errors.push(error);
        return;
    }
    for (index, (old, new)) in old.iter().zip(&new).enumerate() {
        let all = |term: &Value, part: &str| term[part].as_array().cloned().unwrap_or_default();
        for part in ["matchExpressions", "matchFields"] {
            let (kept, found) = (all(old, part), all(new, part));
            if !kept.iter().eq(found.iter().take(kept.len()))
                || (crate::decode::empty(old) && !crate::decode::empty(new))
            {
                let why = "only additions are allowed (no mutations or deletions)";
                let mut error = invalid(format!("{at}[{index}]"), Value::Null, why);
                error.value = Some(types::shown("core.NodeSelectorTerm", new));
                errors.push(error);
                break;
            }
        }
    }
}

/// Validates images and the number of containers. Returns true if no further validation is necessary.
fn containers(now: &Value, before: &Value, name: &str, errors: &mut Vec<FieldError>) -> bool {
    if list(now, name).len() != list(before, name).len() {
        errors.push(forbidden(format!("spec.{name}"), "pod updates may not add or remove containers"));
        return true;
    }
    for (index, container) in list(now, name).iter().enumerate() {
        let image = container["image"].as_str().unwrap_or_default();
        let field = format!("spec.{name}[{index}].image");
        if image.is_empty() {
            errors.push(required(field.clone(), ""));
        }
        if image.trim() != image {
            errors.push(invalid(field, image, "must not have leading or trailing whitespace"));
        }
    }
    false
}

/// Validates `activeDeadlineSeconds`, which may only decrease. Returns true if no further validation is necessary.
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

/// Requires that an update of a gated pod only adds entries to its node selector.
fn selector(now: &Value, before: &Value, errors: &mut Vec<FieldError>) {
    let kept = before.as_object().into_iter().flatten().all(|(key, value)| now[key] == *value);
    if !kept {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(invalid("spec.nodeSelector", now.clone(), why));
    }
}

/// Returns the new spec with the mutable fields of the old one, for comparison with the old spec.
fn rest(spec: &Value, before: &Value, gated: bool) -> Value {
    let mut spec = spec.clone();
    for name in CONTAINERS {
        let old = list(before, name);
        let found = spec.get_mut(name).and_then(Value::as_array_mut);
        for (container, old) in found.into_iter().flatten().zip(old) {
            container["image"] = old["image"].clone();
        }
    }
    let mut open = vec!["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let shortened = before["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0)
        && spec["terminationGracePeriodSeconds"] == 1;
    if shortened {
        open.push("terminationGracePeriodSeconds");
    }
    if gated {
        open.push("nodeSelector");
        let old = &before["affinity"];
        let others = ["podAffinity", "podAntiAffinity"];
        if old.is_null() && others.iter().all(|kind| spec["affinity"][*kind].is_null()) {
            open.push("affinity");
        } else if !spec["affinity"].is_null() || !old["nodeAffinity"].is_null() {
            spec["affinity"]["nodeAffinity"] = old["nodeAffinity"].clone();
        }
    }
    let Some(fields) = spec.as_object_mut() else { return spec };
    for name in open {
        match before.get(name) {
            Some(value) => drop(fields.insert(name.to_owned(), value.clone())),
            None => drop(fields.remove(name)),
        }
    }
    spec
}
