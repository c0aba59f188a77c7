//! Decoded documents.

use serde_json::Value;

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// A decoded document.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The document. Of duplicate fields it has the last value.
    pub value: Value,
    /// The errors of strict decoding in order of appearance, each usable as a warning: `duplicate field "spec.a"`, or
    /// for YAML `line 7: key "a" already set in map`.
    pub problems: Vec<String>,
    /// The format of the document.
    pub format: Format,
}

impl Decoded {
    /// Returns the problems as one error text without the prefix `strict decoding error: `, or `None` without any
    /// problem.
    pub fn strict_error(&self) -> Option<String> {
        match (self.problems.is_empty(), self.format) {
            (true, _) => None,
            (false, Format::Json) => Some(self.problems.join(", ")),
            (false, Format::Yaml) => {
                Some(format!("yaml: unmarshal errors:\n  {}", self.problems.join("\n  ")))
            }
        }
    }
}

/// The error for a document whose paths are longer than [`MAX_PATHS_TEXT`](crate::limits::MAX_PATHS_TEXT).
pub(super) const LONG_PATHS: &str = "the paths of the fields are too long in total";

/// Converts a float to a JSON number. An integral float becomes an integer, as after a round trip through Go: `1.0`
/// becomes `1`.
pub fn number(value: f64) -> Value {
    // Beyond 2^63 there is no integer; these bounds are exact.
    if value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        return Value::from(value as i64);
    }
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}
