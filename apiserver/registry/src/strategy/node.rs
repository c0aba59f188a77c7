//! Nodes.

use serde_json::{Map, Value, json};

use super::known::{NONE, Rules};

/// `v1.Node`
pub(super) const NODE: Rules = Rules { normalize, prepare: taint, ..NONE };

/// Nothing is placed on a new node until somebody finds it ready.
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

/// What a node has, it offers, unless it says otherwise.
fn normalize(node: &mut Value) {
    let Some(status) = node.get_mut("status").and_then(Value::as_object_mut) else { return };
    let capacity =
        status.get("capacity").filter(|capacity| capacity.as_object().is_some_and(|map| !map.is_empty()));
    let Some(capacity) = capacity.cloned() else { return };
    if status.get("allocatable").and_then(Value::as_object).is_none_or(Map::is_empty) {
        status.insert("allocatable".into(), capacity);
    }
}
