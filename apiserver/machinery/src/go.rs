//! Text forms of values in Go programs.

use serde_json::{Number, Value};

/// Parses a boolean as Go's `strconv.ParseBool` does.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Formats a float like Go's `%v`: shortest digits, with an exponent from `1e+06` on and below `0.0001`.
pub fn go_float(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN".into()
        } else if value > 0.0 {
            "+Inf".into()
        } else {
            "-Inf".into()
        };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Formats a number as kube-apiserver does in messages.
pub fn show_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float(float),
        _ => number.to_string(),
    }
}

/// Returns the name of the value's type in Go's unstructured objects.
pub fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Formats the value like Go's `%v`.
pub fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", go_text(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Number(number) if !number.is_i64() => go_float(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Encodes the value like Go's JSON encoder: no spaces, HTML characters escaped, and exponents only for very large or
/// very small floats.
pub fn go_json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(go_json).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let field = |(key, value): (&String, &Value)| {
                format!("{}:{}", go_json(&Value::from(key.as_str())), go_json(value))
            };
            format!("{{{}}}", map.iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::String(_) => {
            let mut text = value.to_string();
            for (plain, escaped) in [
                ("<", "\\u003c"),
                (">", "\\u003e"),
                ("&", "\\u0026"),
                ("\u{2028}", "\\u2028"),
                ("\u{2029}", "\\u2029"),
            ] {
                text = text.replace(plain, escaped);
            }
            text
        }
        Value::Number(number) if !number.is_i64() => {
            let float = number.as_f64().unwrap_or_default();
            if float != 0.0 && !(1e-6..1e21).contains(&float.abs()) {
                let text = format!("{float:e}");
                if text.contains("e-") { text } else { text.replace('e', "e+") }
            } else {
                float.to_string()
            }
        }
        other => other.to_string(),
    }
}

/// Formats the value like Go's `%#v`.
pub fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{key:?}:{}", go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}
