//! Nodes.

use serde_json::{Map, Value};

use super::known::{NONE, Rules};

/// `v1.Node`
pub(super) const NODE: Rules = Rules { normalize, ..NONE };

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
