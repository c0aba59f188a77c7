//! Ranges of numbers, and their text form in Go.

use serde_json::{Number, Value};

use super::Kind;

/// Formats a float like Go's `%v`: shortest digits, with an exponent from `1e+06` on and below `0.0001`.
pub(crate) fn go_float(value: f64) -> String {
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
pub(crate) fn show(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float(float),
        _ => number.to_string(),
    }
}

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

/// Returns the message for a number that does not fit its type and format, or `None` if it does.
pub(crate) fn range_problem(number: Numeric, kind: Option<Kind>, format: &str, path: &str) -> Option<String> {
    let fits = match (kind, number) {
        (Some(Kind::Integer), Numeric::Int(int)) => match format {
            "int32" => i32::try_from(int).is_ok(),
            "uint32" => u32::try_from(int).is_ok(),
            "uint64" => u64::try_from(int).is_ok(),
            _ => true,
        },
        (Some(Kind::Integer), Numeric::Float(float)) => {
            let (low, high) = match format {
                "int32" => (f64::from(i32::MIN), f64::from(i32::MAX)),
                "uint32" => (0.0, f64::from(u32::MAX)),
                "uint64" => (0.0, 18_446_744_073_709_549_568.0),
                _ => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_774_784.0),
            };
            float.fract() == 0.0 && (low..=high).contains(&float)
        }
        (_, Numeric::Float(float)) if matches!(format, "float" | "float32") => {
            float.abs() <= f64::from(f32::MAX)
        }
        _ => true,
    };
    if fits {
        return None;
    }
    let kind = if kind == Some(Kind::Integer) { "integer" } else { "number" };
    Some(if format.is_empty() {
        format!("Checked value must be of type {kind} (default format) in {path}")
    } else {
        format!("Checked value must be of type {kind} with format {format} in {path}")
    })
}

/// Returns whether two JSON values are equal, where `1` and `1.0` are the same number.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, a), (kb, b))| ka == kb && same(a, b))
        }
        _ => a == b,
    }
}
