//! The size of values.

use serde_json::Value;

/// The size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// About as many bytes as its JSON has.
    pub bytes: usize,
    /// Nested objects and lists.
    pub levels: usize,
}

/// Measures a value.
pub fn measure(value: &Value) -> Size {
    let mut size = Size { bytes: 0, levels: 0 };
    let mut add = |text: usize, value: &Value| {
        let below = measure(value);
        size = Size { bytes: size.bytes + text + below.bytes + 1, levels: size.levels.max(below.levels + 1) };
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| add(name.len() + 3, value)),
        Value::Array(items) => items.iter().for_each(|item| add(0, item)),
        Value::String(text) => return Size { bytes: text.len() + 2, levels: 0 },
        _ => return Size { bytes: 8, levels: 0 },
    }
    Size { bytes: size.bytes + 2, levels: size.levels.max(1) }
}
