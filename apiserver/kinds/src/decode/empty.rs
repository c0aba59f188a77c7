//! Go's notion of empty values.

use serde_json::Value;

/// Returns whether Go's `omitempty` omits the value. Numbers and booleans are not considered.
pub fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
