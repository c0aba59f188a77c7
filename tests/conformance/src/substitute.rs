//! Placeholders in requests: `{ns}`, `{saved}`, `{name:saved}`, and `{repeat|text|n}`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// Values by name.
pub type Values = BTreeMap<String, String>;

#[expect(clippy::expect_used, reason = "the pattern is a constant")]
static REPEAT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{repeat\|([^|]*)\|(\d+)\}").expect("a valid pattern"));
#[expect(clippy::expect_used, reason = "the pattern is a constant")]
static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{(?:name:)?([A-Za-z_][A-Za-z0-9_.-]*)\}").expect("a valid pattern"));

/// Returns `template` with its placeholders replaced; unknown names are kept.
pub fn text(template: &str, values: &Values) -> String {
    let repeated =
        REPEAT.replace_all(template, |found: &Captures<'_>| found[1].repeat(found[2].parse().unwrap_or(0)));
    let known = |found: &Captures<'_>| values.get(&found[1]).cloned().unwrap_or_else(|| found[0].to_owned());
    NAME.replace_all(&repeated, known).into_owned()
}

/// Like [`text`], for every string and key of a value.
pub fn value(template: &Value, values: &Values) -> Value {
    match template {
        Value::String(string) => Value::String(text(string, values)),
        Value::Array(items) => items.iter().map(|item| value(item, values)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (text(key, values), value(field, values))).collect()
        }
        other => other.clone(),
    }
}
