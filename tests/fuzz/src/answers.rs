//! Describes a parser's result in a few words. Results with the same words count as the same.

use serde_json::Value;

/// Describes the form of a result, without its numbers and names.
pub fn like(result: &str) -> String {
    let mut words: Vec<&str> =
        result.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 3).collect();
    words.truncate(8);
    words.join(" ")
}

/// Describes the types of the values in the first levels, enough to distinguish inputs.
fn shape(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "n".into(),
        Value::Bool(_) => "b".into(),
        Value::Number(number) => if number.is_f64() { "f" } else { "i" }.into(),
        Value::String(_) => "s".into(),
        _ if depth == 0 => "…".into(),
        Value::Array(items) => {
            format!("[{}]", items.first().map_or_else(String::new, |item| shape(item, depth - 1)))
        }
        Value::Object(map) => {
            let fields: Vec<String> = map.values().take(4).map(|value| shape(value, depth - 1)).collect();
            format!("{{{}}}", fields.join(""))
        }
    }
}

/// Describes the form of a value or of an error.
pub fn answer<E: std::fmt::Display>(result: Result<&Value, E>) -> String {
    match result {
        Ok(value) => shape(value, 3),
        Err(error) => like(&error.to_string()),
    }
}
