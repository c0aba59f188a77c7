//! Helpers of tests.

use serde_json::Value;

/// Merges `change` into `target`: objects by key, everything else by replacement.
pub fn merge(target: &mut Value, change: &Value) {
    match (target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (key, value) in change {
                merge(target.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (target, change) => target.clone_from(change),
    }
}
