//! Conversions between types. What cannot be converted is zero.

use super::{Function, Parameter, function};
use crate::error::Outcome;
use crate::format;
use crate::format::numbers;
use crate::values::{Element, Value, Work};
use Parameter::{Any, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("int", &[Any], |_, a| Ok(Value::Int(to_int(a.value(0))))),
    function("int64", &[Any], |_, a| Ok(Value::Int64(to_int(a.value(0))))),
    function("float64", &[Any], |_, a| Ok(Value::Float(to_float(a.value(0))))),
    function("atoi", &[Text], |_, a| Ok(Value::Int(decimal(&a.characters(0))))),
    function("toDecimal", &[Any], |work, a| {
        let text = format::text(work, a.value(0))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = i64::from_str_radix(&text, 8).ok().filter(|_| plain);
        Ok(Value::Int64(number.unwrap_or_default()))
    }),
];

/// A decimal number. One that is too large is the largest.
fn decimal(text: &str) -> i64 {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return 0;
    }
    let limit = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(limit)
}

/// The value as an integer. A string may have a prefix for the base, and a fraction, which does not count.
pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Bool(value) => i64::from(*value),
        Value::Float(value) => float_to_int(*value),
        Value::Text(text) => {
            let text = String::from_utf8_lossy(text);
            numbers::parse_int(&whole_part(&text)).unwrap_or_default()
        }
        other => other.signed().or_else(|| other.unsigned().map(|value| value as i64)).unwrap_or_default(),
    }
}

/// What amd64 makes of a float: one that is too large, or no number, is the smallest integer.
fn float_to_int(value: f64) -> i64 {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    if fits { value as i64 } else { i64::MIN }
}

/// The digits before a point, if there are only digits after it.
fn whole_part(text: &str) -> String {
    let Some((whole, fraction)) = text.split_once('.') else { return text.to_owned() };
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if !digits.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    if digits.is_empty() { format!("{whole}0") } else { whole.to_owned() }
}

/// The value as a float.
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::Float(value) => *value,
        Value::Text(text) => numbers::parse_float(&String::from_utf8_lossy(text)).unwrap_or_default(),
        other => {
            let signed = other.signed().map(|value| value as f64);
            signed.or_else(|| other.unsigned().map(|value| value as f64)).unwrap_or_default()
        }
    }
}

/// The value as a string: itself, or as it is printed.
pub(super) fn strval(work: &mut Work, value: &Value) -> Outcome<Vec<u8>> {
    match value {
        Value::Text(text) => {
            work.bytes(text.len())?;
            Ok(text.to_vec())
        }
        other => format::text(work, other),
    }
}

/// The elements of a list as strings, without nil. What is no list is a list of one.
pub(super) fn strings(work: &mut Work, value: &Value) -> Outcome<Value> {
    let items = match value {
        Value::List(list) if list.element() == Element::Text => return Ok(value.clone()),
        Value::List(list) => list.items(),
        Value::Missing | Value::Nil => &[],
        other => std::slice::from_ref(other),
    };
    let mut texts = Vec::new();
    for item in items.iter().filter(|item| !item.is_nothing()) {
        texts.push(strval(work, item)?);
    }
    work.texts(texts)
}
