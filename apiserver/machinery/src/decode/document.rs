//! A decoded document.

use serde_json::Value;

/// What a document was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// A decoded document.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The document. For a field that is given twice, the last one.
    pub value: Value,
    /// What strict decoding objects to, in order of appearance: `duplicate field "spec.a"`, or from YAML
    /// `line 7: key "a" already set in map`. As they are, these are warnings.
    pub problems: Vec<String>,
    /// What the document was written in.
    pub format: Format,
}

impl Decoded {
    /// The problems as one error text, without `strict decoding error: ` in front; `None` when there are none.
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

/// What is said of a document whose paths are longer than [`MAX_PATHS_TEXT`](crate::limits::MAX_PATHS_TEXT).
pub(super) const LONG_PATHS: &str = "the names above its fields are too long for so many fields";

/// Writes an integral float as an integer, as it comes back from any Go program: `1.0` is `1`.
pub fn number(value: f64) -> Value {
    // Beyond 2^63 there is no integer; these bounds are exact.
    if value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        return Value::from(value as i64);
    }
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}
