//! Helpers of tests.

use serde_json::Value;

/// Merges `change` into `target` (RFC 7386).
pub fn merge(target: &mut Value, change: &Value) {
    *target = machinery::patch::merge_patch(target, change.to_string().as_bytes()).unwrap().object;
}
