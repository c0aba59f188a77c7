//! Ranges of numbers.

use serde_json::Number;

use super::Kind;

/// A number as an integer if it fits, otherwise as a float.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numeric {
    Int(i64),
    Float(f64),
}

impl Numeric {
    pub(crate) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// Returns whether the value has no fraction and is a safe integer of JavaScript.
    pub(crate) fn is_whole(self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Float(float) => float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0,
        }
    }
}

/// Returns the message for a number that does not fit its type and format, or `None` if it does. `what` is the name of the number: `Checked`
/// for that of an object.
pub(crate) fn range_problem(
    number: Numeric,
    kind: Option<Kind>,
    format: &str,
    what: &str,
    path: &str,
) -> Option<String> {
    let fits = match (kind, number) {
        (Some(Kind::Integer), Numeric::Int(int)) => match format {
            "int32" => i32::try_from(int).is_ok(),
            _ => true,
        },
        (Some(Kind::Integer), Numeric::Float(float)) => {
            let (low, high) = match format {
                "int32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
                _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_774_784.0),
            };
            float.fract() == 0.0 && (low..=high).contains(&float)
        }
        (_, Numeric::Float(float)) if format == "float" => float.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    if fits {
        return None;
    }
    let kind = if kind == Some(Kind::Integer) { "integer" } else { "number" };
    Some(if format.is_empty() {
        format!("{what} value must be of type {kind} (default format) in {path}")
    } else {
        format!("{what} value must be of type {kind} with format {format} in {path}")
    })
}
