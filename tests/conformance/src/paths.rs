//! Dotted paths into JSON values: `\.` is a literal dot, `[n]` or `n` an index, `*` everything where values are removed.

use serde_json::Value;

/// Splits a dotted path into segments.
pub fn split(path: &str) -> Vec<String> {
    let mut segments = Vec::new();
    let mut current = String::new();
    let mut characters = path.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => current.extend(characters.next()),
            '.' | '[' => segments.push(std::mem::take(&mut current)),
            ']' => {}
            _ => current.push(character),
        }
    }
    segments.push(current);
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Returns the value at a path, or `None`.
pub fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    split(path).iter().try_fold(value, |value, segment| match value {
        Value::Object(fields) => fields.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns a value as text; strings without quotes.
pub fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the text at nested keys; empty if absent.
pub fn text<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    keys.iter().try_fold(value, |value, key| value.get(*key)).and_then(Value::as_str).unwrap_or_default()
}

/// Removes the value at a path; items of lists are replaced by a marker, so that the others keep their index.
pub fn remove(value: &mut Value, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let any = first == "*";
    match value {
        Value::Object(fields) if rest.is_empty() => fields.retain(|key, _| !any && key != first),
        Value::Object(fields) => {
            for (_, field) in fields.iter_mut().filter(|(key, _)| any || *key == first) {
                remove(field, rest);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if !any && index.to_string() != *first {
                    continue;
                }
                if rest.is_empty() {
                    *item = "<ignored>".into();
                } else {
                    remove(item, rest);
                }
            }
        }
        _ => {}
    }
}
