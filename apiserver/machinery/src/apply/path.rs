//! Path elements: a field, a list item by its keys or its value, or an index.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

/// One element of a path. The order of the variants is the order in encoded field sets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement {
    /// A field of a map, encoded as `f:name`.
    Field(String),
    /// An item of a list with keys, by the values of its keys sorted by name, encoded as `k:{"name":"x"}`.
    Key(Vec<(String, Scalar)>),
    /// An item of a set, encoded as `v:"x"`.
    Value(Scalar),
    /// An item by its index, encoded as `i:0`.
    Index(i64),
}

/// A JSON value with a total order.
#[derive(Debug, Clone)]
pub struct Scalar(pub Value);

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        compare_values(&self.0, &other.0) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_values(&self.0, &other.0)
    }
}

/// Compares values in a total order: numbers (integers and floats by value), strings, booleans, lists, maps, null.
pub fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal =
                left.iter().zip(right).map(|(l, r)| compare_values(l, r)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let unequal = left
                .iter()
                .zip(right)
                .map(|((lk, lv), (rk, rv))| lk.cmp(rk).then_with(|| compare_values(lv, rv)))
                .find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &serde_json::Number, right: &serde_json::Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64().unwrap_or_default(), right.as_f64().unwrap_or_default());
            left.total_cmp(&right)
        }
    }
}

impl PathElement {
    /// Returns the element of a field.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Parses the `fieldsV1` form. Returns `None` for unknown kinds of elements, which are ignored.
    ///
    /// The error is a message.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(format!("missing colon in path element {text:?}"));
        };
        let json = || {
            serde_json::from_str::<Value>(rest)
                .map_err(|error| format!("path element {text:?} is not JSON: {error}"))
        };
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(Scalar(json()?)),
            "i" => Self::Index(
                rest.parse().map_err(|_| format!("the index in path element {text:?} is not a number"))?,
            ),
            "k" => match json()? {
                Value::Object(keys) if !keys.is_empty() => {
                    Self::Key(keys.into_iter().map(|(key, value)| (key, Scalar(value))).collect())
                }
                _ => return Err(format!("path element {text:?} needs an object with at least one key")),
            },
            _ => return Ok(None),
        }))
    }

    /// Returns the `fieldsV1` form.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", go_json(&value.0)),
            Self::Index(index) => format!("i:{index}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> =
                    keys.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect();
                format!("k:{}", go_json(&Value::Object(keys)))
            }
        }
    }
}

/// Returns JSON with `<`, `>`, `&` and line separators escaped as Go does, because these texts are keys that are
/// compared.
fn go_json(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (position, (key, value)) in keys.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    write!(f, "{comma}{key}={}", value.0)?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Formats a path for messages, for example `.spec.ports[port=80,protocol="TCP"].name`.
pub fn display(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
