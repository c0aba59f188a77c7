//! Empty values and what stands for them, and JSON.

use super::{Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::format::{decode, encode};
use crate::values::{Value, Work};
use Parameter::{Any, Bool, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("default", &[Any], Any, |_, a| {
        let given = a.from(1).first().filter(|given| !is_empty(given));
        Ok(given.unwrap_or(a.value(0)).clone())
    }),
    function("empty", &[Any], |_, a| Ok(Value::Bool(is_empty(a.value(0))))),
    variadic("coalesce", &[], Any, |_, a| {
        Ok(a.all().iter().find(|value| !is_empty(value)).cloned().unwrap_or(Value::Nil))
    }),
    variadic("all", &[], Any, |_, a| Ok(Value::Bool(!a.all().iter().any(is_empty)))),
    variadic("any", &[], Any, |_, a| Ok(Value::Bool(!a.all().iter().all(is_empty)))),
    function("ternary", &[Any, Any, Bool], |_, a| Ok(a.value(if a.bool(2) { 0 } else { 1 }).clone())),
    function("fail", &[Text], |_, a| Err(a.characters(0).into_owned().into())),
    function("fromJson", &[Text], |work, a| Ok(decode(work, a.text(0))?.unwrap_or(Value::Nil))),
    function("mustFromJson", &[Text], |work, a| match decode(work, a.text(0))? {
        Some(value) => Ok(value),
        None => Err("the text is no JSON".into()),
    }),
    function("toJson", &[Any], |work, a| or_empty(work, a.value(0), false, true)),
    function("mustToJson", &[Any], |work, a| or_error(work, a.value(0), false, true)),
    function("toPrettyJson", &[Any], |work, a| or_empty(work, a.value(0), true, true)),
    function("mustToPrettyJson", &[Any], |work, a| or_error(work, a.value(0), true, true)),
    function("toRawJson", &[Any], |work, a| or_error(work, a.value(0), false, false)),
    function("mustToRawJson", &[Any], |work, a| or_error(work, a.value(0), false, false)),
];

/// Whether a value is the zero of its type, or has no elements.
pub(super) fn is_empty(value: &Value) -> bool {
    !value.is_true()
}

fn or_empty(work: &mut Work, value: &Value, indented: bool, escapes: bool) -> Outcome<Value> {
    let json = encode(work, value, indented, escapes)?.unwrap_or_default();
    work.text(json)
}

fn or_error(work: &mut Work, value: &Value, indented: bool, escapes: bool) -> Outcome<Value> {
    match encode(work, value, indented, escapes)? {
        Some(json) => work.text(json),
        None => Err("JSON has no such number".into()),
    }
}
