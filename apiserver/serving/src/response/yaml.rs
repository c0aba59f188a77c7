//! Writes JSON values as YAML that readers of YAML 1.1 and 1.2 read back as the same values.

use serde_json::Value;

/// Returns the value as a YAML document.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                pad(indent, text);
                scalar(key, text);
                text.push(':');
                nested(value, indent, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                pad(indent, text);
                text.push('-');
                match item {
                    Value::Object(fields) if !fields.is_empty() => {
                        // The first field follows the dash, the others are below it.
                        let mut inner = String::new();
                        block(item, indent + 2, &mut inner);
                        text.push(' ');
                        text.push_str(inner.trim_start_matches(' '));
                    }
                    _ => nested(item, indent, text),
                }
            }
        }
        other => {
            flow(other, text);
            text.push('\n');
        }
    }
}

fn nested(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            block(value, indent + 2, text);
        }
        // Lists are indented like their key, as kubectl writes them.
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            let deeper = if text.ends_with("-\n") { indent + 2 } else { indent };
            block(value, deeper, text);
        }
        other => {
            text.push(' ');
            flow(other, text);
            text.push('\n');
        }
    }
}

fn flow(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => scalar(string, text),
        Value::Array(_) => text.push_str("[]"),
        Value::Object(_) => text.push_str("{}"),
        other => text.push_str(&other.to_string()),
    }
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// Writes a plain scalar if every reader takes it for this string, else a double-quoted one, whose escapes
/// are those of JSON.
fn scalar(string: &str, text: &mut String) {
    if is_plain(string) {
        text.push_str(string);
    } else {
        text.push_str(&Value::from(string).to_string());
    }
}

fn is_plain(string: &str) -> bool {
    const WORDS: [&str; 12] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];
    let letter_first = string.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    letter_first && string.chars().all(plain) && !WORDS.contains(&string.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let cases = [
            json!({"a": {"b": [1, "2", {"c": null, "d": [[], {}, [1, [2]]]}]}, "yes": "on", "x": "true"}),
            json!({"text": "several\nlines: #here", "empty": "", "number": "012", "time": "2026-01-01T00:00:00Z"}),
            json!([{"a": 1, "b": {"c": "-"}}, "~", " lead", "tab\t", "unicode ü \u{2028}", "quote\"", "a: b", 1.5, -3]),
            json!("x"),
            json!({}),
        ];
        for case in cases {
            let text = write(&case);
            let read = machinery::decode::yaml(text.as_bytes()).unwrap();
            assert_eq!(read.value, case, "{text}");
        }
    }

    #[test]
    fn it_looks_as_kubectl_writes_it() {
        let value = json!({"kind": "X", "spec": {"list": [{"a": "b", "c": 1}], "none": []}});
        assert_eq!(write(&value), "kind: X\nspec:\n  list:\n  - a: b\n    c: 1\n  none: []\n");
    }
}
