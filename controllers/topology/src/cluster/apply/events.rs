//! The texts of events.

use serde_json::Value;

use crate::object::key;

/// Returns namespace and name of an object in quotes.
pub fn quoted(object: &Value) -> String {
    format!("\"{}\"", key(object))
}

/// Returns the end of a message about an object whose version changes; empty if it does not.
pub fn version_change(before: Option<&str>, after: Option<&str>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before != after && !before.is_empty() && !after.is_empty() => {
            format!(" with version change from {before} to {after}")
        }
        _ => String::new(),
    }
}
