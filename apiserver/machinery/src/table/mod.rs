//! Cells of `meta.k8s.io/v1` tables.

mod age;
mod path;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::clock::parse_rfc3339;
use crate::go::{go_json, go_text};

pub use self::age::human_duration;
pub use self::path::Path;

/// A column of a table: the type of its values and their path.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    kind: Kind,
    path: Path,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Date,
    Unknown,
}

impl Column {
    /// Creates a column. `kind` is `string`, `integer`, `number`, `boolean` or `date`, and `json_path` is for example
    /// `.status.phase`.
    ///
    /// The error says what is wrong with the path.
    pub fn new(kind: &str, json_path: &str) -> Result<Self, String> {
        let kind = match kind {
            "string" => Kind::Text,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "boolean" => Kind::Boolean,
            "date" => Kind::Date,
            _ => Kind::Unknown,
        };
        Ok(Self { kind, path: Path::parse(json_path)? })
    }

    /// Returns the cell of `object`: the first value at the path, or null if it does not have the type of the column.
    pub fn cell(&self, object: &Value, now: DateTime<Utc>) -> Value {
        let Some(value) = self.path.first(object) else { return Value::Null };
        match (self.kind, value) {
            (Kind::Text, Value::Null) => "<no value>".into(),
            (_, Value::Null) => Value::Null,
            (Kind::Text, Value::Array(_) | Value::Object(_)) => go_json(value).into(),
            (Kind::Text, value) => go_text(value).into(),
            (Kind::Integer, Value::Number(number)) => integer(number),
            // In Go the value is a float, regardless of how it was written.
            (Kind::Number, Value::Number(number)) if number.is_i64() => {
                number.as_f64().map_or(Value::Null, |float| (float as i64).into())
            }
            (Kind::Number, Value::Number(_)) | (Kind::Boolean, Value::Bool(_)) => value.clone(),
            (Kind::Date, Value::String(text)) => match parse_rfc3339(text) {
                Some(time) => human_duration(now - time).into(),
                None if matches!(text.as_str(), "" | "null") => "<unknown>".into(),
                None => "<invalid>".into(),
            },
            _ => Value::Null,
        }
    }
}

fn integer(number: &serde_json::Number) -> Value {
    if number.is_i64() {
        return Value::Number(number.clone());
    }
    let value = number.as_f64().unwrap_or_default();
    // A value that is out of range becomes the smallest integer, as in Go.
    let fits = value.abs() < i64::MAX as f64;
    (if fits { value as i64 } else { i64::MIN }).into()
}
