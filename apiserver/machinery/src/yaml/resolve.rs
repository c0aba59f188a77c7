//! Finds the meaning of a plain scalar in YAML 1.1, as go-yaml v2 does.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// The types that a scalar can have.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `~`, `null` or empty.
    Null,
    /// `true`, `yes`, `on`, …
    Bool(bool),
    /// A number that JSON can represent.
    Number(Number),
    /// `.nan`, `.inf`: numbers that JSON cannot represent.
    NoNumber,
    /// `2026-01-01`: read as text, but written in quotes.
    Timestamp,
    /// `<<`
    Merge,
    /// Anything else.
    Text,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by the tests")]
static TIMESTAMP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?: ?(?:Z|[-+]\d\d:\d\d))?)?$",
    )
    .unwrap()
});

/// The meaning of `text` without quotes.
pub fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => return Scalar::NoNumber,
        "<<" => return Scalar::Merge,
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return Scalar::Text;
    }
    if TIMESTAMP.is_match(text) && text.starts_with(|first: char| first.is_ascii_digit()) {
        return Scalar::Timestamp;
    }
    let plain = text.replace('_', "");
    if let Some(number) = integer(&plain) {
        return Scalar::Number(number);
    }
    // Rust and YAML write numbers in the same way, except those in words.
    let words = plain.contains(|c: char| c.is_ascii_alphabetic() && !c.eq_ignore_ascii_case(&'e'));
    match plain.parse::<f64>() {
        Ok(number) if !words => Number::from_f64(number).map_or(Scalar::Text, Scalar::Number),
        _ => Scalar::Text,
    }
}

/// Parses decimal, `0x`, `0b`, `0o` and, with a leading zero, octal integers.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match () {
        () if lower.starts_with("0x") => (16, &lower[2..]),
        () if lower.starts_with("0b") => (2, &lower[2..]),
        () if lower.starts_with("0o") => (8, &lower[2..]),
        () if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        () => (10, lower.as_str()),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()?;
    let value = if negative { -value } else { value };
    i64::try_from(value).map(Number::from).or_else(|_| u64::try_from(value).map(Number::from)).ok()
}

/// The value of a plain scalar in a document.
///
/// # Errors
/// The scalar is a number that JSON cannot represent, in the words of Go's JSON writer.
pub fn value(text: &str) -> Result<Value, String> {
    Ok(match resolve(text) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Number(number) => Value::Number(number),
        Scalar::NoNumber => {
            let shown = text.trim_start_matches(['+', '.']).replace("-.", "-");
            let shown = match shown.to_ascii_lowercase().as_str() {
                "nan" => "NaN",
                "inf" => "+Inf",
                _ => "-Inf",
            };
            return Err(format!("json: unsupported value: {shown}"));
        }
        Scalar::Timestamp | Scalar::Merge | Scalar::Text => Value::from(text),
    })
}
