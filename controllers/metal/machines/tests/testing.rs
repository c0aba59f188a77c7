//! Helpers of tests.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use serde_json::Value;

/// Merges `change` into `target` (RFC 7386).
pub fn merge(target: &mut Value, change: &Value) {
    *target = machinery::patch::merge_patch(target, change.to_string().as_bytes()).unwrap().object;
}
