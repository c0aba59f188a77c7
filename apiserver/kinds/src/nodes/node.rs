//! Nodes.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Map, Value, json};

use crate::fields::{forbidden, internal, invalid, list, remove, required};
use crate::pods::resources;
use crate::strategy::rules::{NONE, Rules};

/// `v1.Node`.
pub(crate) const NODE: Rules = Rules {
    drop_gated: |node| remove(node, "/spec", "configSource"),
    normalize,
    zeros: &[("spec.unschedulable", "false")],
    prepare: taint,
    validate: |node| {
        let mut errors = taints(&node["spec"]);
        let ranges = list(&node["spec"], "podCIDRs");
        let is_v6 = |range: &&Value| range.as_str().is_some_and(|text| text.contains(':'));
        let six = ranges.iter().filter(is_v6).count();
        if ranges.len() > 1 && (six > 1 || ranges.len() - six > 1) {
            let why = "may specify no more than one CIDR for each IP family";
            errors.push(invalid("spec.podCIDRs", ranges.to_vec(), why));
        }
        errors.extend(status(node));
        errors
    },
    immutable: |node, old| {
        let (now, before) = (&node["spec"], &old["spec"]);
        let mut errors = Vec::new();
        let (new, ranges) = (list(now, "podCIDRs"), list(before, "podCIDRs"));
        let changed = if new.len() == ranges.len() {
            new.iter().zip(ranges).filter(|(new, old)| new != old).count()
        } else {
            usize::from(!ranges.is_empty())
        };
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.extend((0..changed).map(|_| forbidden("spec.podCIDRs", why)));
        let text = |spec: &Value, field: &str| spec[field].as_str().unwrap_or_default().to_owned();
        let provider = text(before, "providerID");
        if !provider.is_empty() && provider != text(now, "providerID") {
            let why = "node updates may not change providerID except from \"\" to valid";
            errors.push(forbidden("spec.providerID", why));
        }
        if text(before, "externalID") != text(now, "externalID") {
            errors.push(forbidden("spec.externalID", "may not be updated"));
        }
        errors
    },
    status: Some(|node, _| status(node)),
    ..NONE
};

fn status(node: &Value) -> Vec<FieldError> {
    let status = &node["status"];
    let mut errors = Vec::new();
    for part in ["capacity", "allocatable"] {
        for (name, amount) in status[part].as_object().into_iter().flatten() {
            errors.extend(resources::amount(name, amount, &format!("status.{part}.{name}")));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, address) in list(status, "addresses").iter().enumerate() {
        if !seen.insert(address.to_string()) {
            let path = format!("status.addresses[{index}]");
            let mut error = internal(path, "core.NodeAddress", address, "");
            error.kind = FieldErrorKind::Duplicate;
            errors.push(error);
        }
    }
    errors
}

/// Validates the taints of a node. The path `metadata.taints` in the errors is that of kube-apiserver.
fn taints(spec: &Value) -> Vec<FieldError> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in list(spec, "taints").iter().enumerate() {
        let path = format!("metadata.taints[{index}]");
        let text = |field: &str| taint[field].as_str().unwrap_or_default();
        let (key, value, effect) = (text("key"), text("value"), text("effect"));
        let problems = names::qualified_name(key);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.key"), key, why)));
        let problems = names::label_value(value);
        if !problems.is_empty() {
            errors.push(invalid(format!("{path}.value"), value, problems.join(";")));
        }
        if effect.is_empty() {
            errors.push(required(format!("{path}.effect"), ""));
        } else if !EFFECTS.contains(&effect) {
            let allowed = EFFECTS.map(Value::from);
            errors.push(FieldError::not_supported(format!("{path}.effect"), &effect.into(), &allowed));
        }
        if !seen.insert((key, effect)) {
            let why = "taints must be unique by key and effect pair";
            let mut error = internal(path, "core.Taint", taint, why);
            error.kind = FieldErrorKind::Duplicate;
            errors.push(error);
        }
    }
    errors
}

/// Adds the `not-ready` taint to a new node, which keeps pods off it until a controller removes the taint.
fn taint(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    const EFFECT: &str = "NoSchedule";
    if !node["spec"].is_object() {
        node["spec"] = json!({});
    }
    let taints = &mut node["spec"]["taints"];
    if !taints.is_array() {
        *taints = json!([]);
    }
    if let Some(taints) = taints.as_array_mut()
        && !taints.iter().any(|taint| taint["key"] == KEY && taint["effect"] == EFFECT)
    {
        taints.push(json!({"key": KEY, "effect": EFFECT}));
    }
}

/// Keeps `podCIDR` and the first item of `podCIDRs` equal.
fn ranges(spec: &mut Map<String, Value>) {
    let single = spec.get("podCIDR").and_then(Value::as_str).filter(|range| !range.is_empty());
    let first = spec.get("podCIDRs").and_then(|list| list.get(0)).and_then(Value::as_str);
    match (single.map(str::to_owned), first.map(str::to_owned)) {
        (Some(range), first) if first.as_deref() != Some(&range) => {
            spec.insert("podCIDRs".into(), json!([range]));
        }
        (None, Some(first)) => drop(spec.insert("podCIDR".into(), first.into())),
        _ => {}
    }
}

/// Defaults `allocatable` to `capacity` and completes the pod CIDRs.
fn normalize(node: &mut Value) {
    if let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) {
        ranges(spec);
    }
    let Some(status) = node.get_mut("status").and_then(Value::as_object_mut) else { return };
    let capacity =
        status.get("capacity").filter(|capacity| capacity.as_object().is_some_and(|map| !map.is_empty()));
    let Some(capacity) = capacity.cloned() else { return };
    if status.get("allocatable").and_then(Value::as_object).is_none_or(Map::is_empty) {
        status.insert("allocatable".into(), capacity);
    }
}
