//! Compares two normalised responses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value, json};

use crate::model::{Compare, Response};
use crate::normalise::managed_key;
use crate::paths::text;

/// Marker in recordings for free text of kube-apiserver, which matches any text.
const ANY: &str = "<any>";

/// The longest value that a difference shows, in characters.
const SHOWN_MAX: usize = 300;

/// How much of a longer value is shown before the first difference, in characters.
const SHOWN_BEFORE: usize = 60;

/// A difference between two responses.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// `code`, `contentType`, `warnings`, `reason`, `message`, `text`, `missing`, `extra`, `different` or
    /// `trouble`.
    pub what: &'static str,
    /// Path in the body; empty for differences outside of the body.
    pub path: String,
    /// kube-apiserver's value.
    pub want: Value,
    /// This server's value.
    pub got: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (want, got) = (self.want.to_string(), self.got.to_string());
        let same = want.chars().zip(got.chars()).take_while(|(one, other)| one == other).count();
        let skipped =
            if want.len().max(got.len()) > SHOWN_MAX { same.saturating_sub(SHOWN_BEFORE) } else { 0 };
        let short = |value: &str| -> String { value.chars().skip(skipped).take(SHOWN_MAX).collect() };
        let (want, got) = (short(&want), short(&got));
        match self.what {
            "missing" => write!(f, "missing {}: want {want}", self.path),
            "extra" => write!(f, "extra {}: got {got}", self.path),
            what => write!(f, "{what} {}: want {want} got {got}", self.path),
        }
    }
}

/// What differs.
#[derive(Default)]
pub struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, what: &'static str, path: &str, want: impl Into<Value>, got: impl Into<Value>) {
        self.0.push(Difference { what, path: path.to_owned(), want: want.into(), got: got.into() });
    }

    fn unequal(&mut self, what: &'static str, want: impl Into<Value>, got: impl Into<Value>) {
        let (want, got) = (want.into(), got.into());
        if want != got {
            self.add(what, "", want, got);
        }
    }
}

/// Returns every difference between the recorded response and this server's.
pub fn answers(rules: Option<&Compare>, want: &Response, got: &Response) -> Vec<Difference> {
    let mut found = Differences::default();
    for trouble in got.trouble.iter().filter(|trouble| !want.trouble.contains(trouble)) {
        found.add("trouble", "", Value::Null, trouble.as_str());
    }
    let (want_body, got_body) = (in_order(&want.body), in_order(&got.body));
    let status = |body: &Value| text(body, &["kind"]) == "Status";
    let (want_status, got_status) = (status(&want_body), status(&got_body));
    found.unequal("code", want.code, got.code);
    if want_status || got_status {
        found.unequal("reason", text(&want_body, &["reason"]), text(&got_body, &["reason"]));
    }
    if rules.is_some_and(|rules| rules.message == "loose") {
        return found.0;
    }
    if want.code != got.code || want_status != got_status {
        found.unequal("message", text(&want_body, &["message"]), text(&got_body, &["message"]));
        if want.code == got.code {
            found.add("different", "kind", text(&want_body, &["kind"]), text(&got_body, &["kind"]));
        }
        return found.0;
    }
    found.unequal("contentType", want.content_type.as_str(), got.content_type.as_str());
    found.unequal("warnings", json!(want.warnings), json!(got.warnings));
    found.unequal("text", want.text.as_str(), got.text.as_str());
    if want_status {
        found.unequal("message", text(&want_body, &["message"]), text(&got_body, &["message"]));
        let rest = |body: &Value| without(body, &["message", "reason"]);
        values(&mut found, "", &rest(&want_body), &rest(&got_body));
    } else {
        values(&mut found, "", &want_body, &got_body);
    }
    if want.events.len() != got.events.len() {
        found.add("different", "events (count)", outline(&want.events), outline(&got.events));
    }
    for (index, (want, got)) in want.events.iter().zip(&got.events).enumerate() {
        values(&mut found, &format!("events[{index}]"), want, got);
    }
    found.0
}

fn outline(events: &[Value]) -> Value {
    let line = |event: &Value| {
        format!("{} {}", text(event, &["type"]), text(event, &["object", "metadata", "name"]))
    };
    events.iter().map(line).collect()
}

fn without(body: &Value, keys: &[&str]) -> Value {
    let mut body = body.clone();
    if let Value::Object(fields) = &mut body {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
    }
    body
}

/// Sorts the causes of a Status and the same parts of its message, since kube-apiserver collects many of them
/// from hash maps.
/// of them from hash maps.
fn in_order(body: &Value) -> Value {
    let mut body = body.clone();
    let causes = body.pointer("/details/causes").and_then(Value::as_array);
    let Some(mut causes) = causes.filter(|causes| causes.len() > 1).cloned() else { return body };
    causes.sort_by_key(Value::to_string);
    let message = text(&body, &["message"]).to_owned();
    if let Some((head, list)) = message.split_once(": [")
        && let Some(list) = list.strip_suffix(']')
    {
        let mut rest = list.to_owned();
        let mut parts = Vec::new();
        for cause in &causes {
            let part = format!("{}: {}", text(cause, &["field"]), text(cause, &["message"]));
            if let Some(start) = rest.find(&part) {
                rest.replace_range(start..start + part.len(), "");
                parts.push(part);
            }
        }
        if rest.trim_matches([',', ' ']).is_empty() {
            parts.sort();
            body["message"] = format!("{head}: [{}]", parts.join(", ")).into();
        }
    }
    body["details"]["causes"] = Value::Array(causes);
    body
}

fn values(found: &mut Differences, path: &str, want: &Value, got: &Value) {
    match (want, got) {
        (Value::String(any), Value::String(_) | Value::Null) if any == ANY => {}
        (Value::Object(want), Value::Object(got)) => objects(found, path, want, got),
        (Value::Array(want), Value::Array(got)) => {
            for index in 0..want.len().max(got.len()) {
                let at = format!("{path}[{index}]");
                match (want.get(index), got.get(index)) {
                    (Some(want), Some(got)) => values(found, &at, want, got),
                    (Some(want), None) => found.add("missing", &at, want.clone(), Value::Null),
                    (None, got) => found.add("extra", &at, Value::Null, got.cloned()),
                }
            }
        }
        _ if want == got => {}
        _ => found.add("different", path, want.clone(), got.clone()),
    }
}

fn objects(found: &mut Differences, path: &str, want: &Map<String, Value>, got: &Map<String, Value>) {
    let keys: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
    for key in keys {
        let escaped = key.replace('.', "\\.");
        let at = if path.is_empty() { escaped } else { format!("{path}.{escaped}") };
        match (want.get(key), got.get(key)) {
            (Some(want), Some(got)) if key == "managedFields" => managed(found, &at, want, got),
            (Some(want), Some(got)) => values(found, &at, want, got),
            (Some(want), None) => found.add("missing", &at, want.clone(), Value::Null),
            (None, got) => found.add("extra", &at, Value::Null, got.cloned()),
        }
    }
}

/// Compares managed fields by manager, operation and subresource, since their order has no meaning.
pub fn managed(found: &mut Differences, path: &str, want: &Value, got: &Value) {
    let (Some(want_list), Some(got_list)) = (want.as_array(), got.as_array()) else {
        return values(found, path, want, got);
    };
    let index = |entries: &[Value]| {
        let mut index = BTreeMap::new();
        for entry in entries {
            let mut key = managed_key(entry);
            if index.contains_key(&key) {
                key = format!("{key}@{}", text(entry, &["apiVersion"]));
            }
            index.insert(key, entry.clone());
        }
        index
    };
    let (want, got) = (index(want_list), index(got_list));
    let keys: BTreeSet<&String> = want.keys().chain(got.keys()).collect();
    for key in keys {
        let at = format!("{path}[{key}]");
        match (want.get(key), got.get(key)) {
            (Some(want), Some(got)) => values(found, &at, want, got),
            (Some(want), None) => found.add("missing", &at, want.clone(), Value::Null),
            (None, got) => found.add("extra", &at, Value::Null, got.cloned()),
        }
    }
}
