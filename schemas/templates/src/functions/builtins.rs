//! The functions of Go's `text/template`.

use std::cmp::Ordering;

use super::arguments::Call;
use super::urls::query_escaped;
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::format;
use crate::format::quote::is_printable;
use crate::values::{Element, List, MapType, Value, Work};
use Parameter::{Any, Text};

const VALUE: Parameter = Parameter::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    short_circuit("and"),
    short_circuit("or"),
    function("not", &[VALUE], |_, a| Ok(Value::Bool(!a.value(0).is_true()))),
    variadic("eq", &[VALUE], VALUE, |_, a| equals_any(a.value(0), a.from(1)).map(Value::Bool)),
    function("ne", &[VALUE, VALUE], |_, a| Ok(Value::Bool(!equals_any(a.value(0), a.from(1))?))),
    function("lt", &[VALUE, VALUE], |_, a| Ok(Value::Bool(compare(a)?.is_some_and(Ordering::is_lt)))),
    function("le", &[VALUE, VALUE], |_, a| Ok(Value::Bool(compare(a)?.is_some_and(Ordering::is_le)))),
    // What is no number is neither less nor equal, and so `gt` and `ge` are true.
    function("gt", &[VALUE, VALUE], |_, a| Ok(Value::Bool(compare(a)?.is_none_or(Ordering::is_gt)))),
    function("ge", &[VALUE, VALUE], |_, a| Ok(Value::Bool(compare(a)?.is_none_or(Ordering::is_ge)))),
    function("len", &[VALUE], |_, a| match a.value(0) {
        Value::Text(text) => Ok(Value::Int(text.len() as i64)),
        Value::List(list) => Ok(Value::Int(list.items().len() as i64)),
        Value::Map(map) => Ok(Value::Int(map.len() as i64)),
        other => Err(format!("a value of type {} has no length", other.type_name()).into()),
    }),
    variadic("index", &[VALUE], VALUE, index),
    variadic("slice", &[VALUE], VALUE, slice),
    variadic("call", &[VALUE], VALUE, |_, a| {
        Err(format!("a value of type {} is no function", a.value(0).type_name()).into())
    }),
    variadic("print", &[], Any, |work, a| {
        let text = format::print(work, a.all())?;
        work.text(text)
    }),
    variadic("println", &[], Any, |work, a| {
        let text = format::println(work, a.all())?;
        work.text(text)
    }),
    variadic("printf", &[Text], Any, |work, a| {
        let text = format::printf(work, a.text(0), a.from(1))?;
        work.text(text)
    }),
    variadic("html", &[], Any, |work, a| {
        let text = joined(work, a)?;
        let mut output = Vec::new();
        for byte in &text {
            let escaped: &[u8] = match byte {
                b'"' => b"&#34;",
                b'\'' => b"&#39;",
                b'&' => b"&amp;",
                b'<' => b"&lt;",
                b'>' => b"&gt;",
                0 => "\u{fffd}".as_bytes(),
                byte => std::slice::from_ref(byte),
            };
            work.append(&mut output, escaped)?;
        }
        work.text(output)
    }),
    variadic("js", &[], Any, |work, a| {
        let text = joined(work, a)?;
        work.bytes(text.len() * 6)?;
        work.text(script_escaped(&text))
    }),
    variadic("urlquery", &[], Any, |work, a| {
        let text = joined(work, a)?;
        work.bytes(text.len() * 3)?;
        work.text(query_escaped(&text))
    }),
];

const fn short_circuit(name: &'static str) -> Function {
    // The renderer evaluates it.
    let call: Call = |_, a| Ok(a.value(0).clone());
    Function { name, parameters: &[VALUE], rest: Some(VALUE), short_circuit: true, call }
}

/// The kinds of values that can be compared.
enum Basic<'a> {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(&'a [u8]),
}

fn basic(value: &Value) -> Option<Basic<'_>> {
    match value {
        Value::Bool(value) => Some(Basic::Bool(*value)),
        Value::Float(value) => Some(Basic::Float(*value)),
        Value::Text(value) => Some(Basic::Text(value)),
        other => other.signed().map(Basic::Signed).or_else(|| other.unsigned().map(Basic::Unsigned)),
    }
}

fn incompatible<T>(one: &Value, two: &Value) -> Outcome<T> {
    let (one, two) = (one.type_name(), two.type_name());
    Err(format!("the types {one} and {two} cannot be compared").into())
}

/// Whether the first equals one of the others.
fn equals_any(first: &Value, others: &[Value]) -> Outcome<bool> {
    if others.is_empty() {
        return Err("there is nothing to compare with".into());
    }
    for other in others {
        if equals(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equals(one: &Value, two: &Value) -> Outcome<bool> {
    match (basic(one), basic(two)) {
        (Some(Basic::Bool(one)), Some(Basic::Bool(two))) => Ok(one == two),
        (Some(Basic::Float(one)), Some(Basic::Float(two))) => Ok(one == two),
        (Some(Basic::Text(one)), Some(Basic::Text(two))) => Ok(one == two),
        (Some(Basic::Signed(one)), Some(Basic::Signed(two))) => Ok(one == two),
        (Some(Basic::Unsigned(one)), Some(Basic::Unsigned(two))) => Ok(one == two),
        (Some(Basic::Signed(one)), Some(Basic::Unsigned(two))) => Ok(u64::try_from(one) == Ok(two)),
        (Some(Basic::Unsigned(one)), Some(Basic::Signed(two))) => Ok(u64::try_from(two) == Ok(one)),
        (None, None) => equal_references(one, two),
        _ if one.is_nothing() || two.is_nothing() => Ok(false),
        _ => incompatible(one, two),
    }
}

/// Lists and maps can only be compared with nil.
fn equal_references(one: &Value, two: &Value) -> Outcome<bool> {
    let is_nil = |value: &Value| match value {
        Value::Missing | Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    };
    let same_kind = one.kind_name() == two.kind_name() || one.is_nothing() || two.is_nothing();
    match (one, two) {
        _ if !same_kind => incompatible(one, two),
        (one, two) if is_nil(one) || is_nil(two) => Ok(is_nil(one) == is_nil(two)),
        (Value::Time(one), Value::Time(two)) => Ok(one == two),
        // Versions are compared by where they are.
        (Value::Version(one), Value::Version(two)) => Ok(std::sync::Arc::ptr_eq(one, two)),
        _ => incompatible(one, two),
    }
}

/// The order of two values, or `None` if one is no number.
fn compare(a: &Arguments) -> Outcome<Option<Ordering>> {
    let (one, two) = (a.value(0), a.value(1));
    Ok(match (basic(one), basic(two)) {
        (Some(Basic::Float(one)), Some(Basic::Float(two))) => one.partial_cmp(&two),
        (Some(Basic::Text(one)), Some(Basic::Text(two))) => Some(one.cmp(two)),
        (Some(Basic::Signed(one)), Some(Basic::Signed(two))) => Some(one.cmp(&two)),
        (Some(Basic::Unsigned(one)), Some(Basic::Unsigned(two))) => Some(one.cmp(&two)),
        (Some(Basic::Signed(one)), Some(Basic::Unsigned(two))) => Some(i128::from(one).cmp(&i128::from(two))),
        (Some(Basic::Unsigned(one)), Some(Basic::Signed(two))) => Some(i128::from(one).cmp(&i128::from(two))),
        _ => return incompatible(one, two),
    })
}

/// The position that an index is.
fn position(index: &Value, length: usize) -> Outcome<usize> {
    let signed = index.signed().map(i128::from);
    let Some(number) = signed.or_else(|| index.unsigned().map(i128::from)) else {
        return Err(format!("a value of type {} is no index", index.type_name()).into());
    };
    let found = usize::try_from(number).ok().filter(|number| *number <= length);
    found.ok_or_else(|| format!("the index {number} is out of the {length} that there are").into())
}

fn index(_: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut item = a.value(0).clone();
    if item.is_nothing() {
        return Err("there is no value to take an element of".into());
    }
    for key in a.from(1) {
        item = match (&item, key) {
            (Value::List(list), key) => {
                let found = list.items().get(position(key, list.items().len())?).cloned();
                found.ok_or_else(|| format!("there are only {} elements", list.items().len()))?
            }
            (Value::Text(text), key) => {
                let found = text.get(position(key, text.len())?).copied().map(Value::Uint8);
                found.ok_or_else(|| format!("there are only {} bytes", text.len()))?
            }
            (Value::Map(map), Value::Text(key)) => map.get(key).unwrap_or(match map.values() {
                MapType::Any => Value::Nil,
                MapType::Text => Value::text(""),
            }),
            (item, key) => {
                let (item, key) = (item.type_name(), key.type_name());
                return Err(format!("a value of type {item} has no element by a key of type {key}").into());
            }
        };
    }
    Ok(item)
}

/// A part of a string or a list.
fn slice(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let (length, is_text) = match a.value(0) {
        Value::Text(text) => (text.len(), true),
        Value::List(list) => (list.items().len(), false),
        other => return Err(format!("a value of type {} has no parts", other.type_name()).into()),
    };
    if a.from(1).len() > if is_text { 2 } else { 3 } {
        return Err("too many indexes".into());
    }
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(a.from(1)) {
        *bound = position(index, length)?;
    }
    if bounds[0] > bounds[1] || bounds[1] > bounds[2] {
        return Err(format!("the indexes {bounds:?} are not in order").into());
    }
    match a.value(0) {
        Value::Text(text) => work.text(&text[bounds[0]..bounds[1]]),
        Value::List(list) if list.is_nil() => Ok(Value::List(List::nil(list.element()))),
        Value::List(list) => work.list(list.element(), list.items()[bounds[0]..bounds[1]].to_vec()),
        _ => work.list(Element::Any, Vec::new()),
    }
}

/// The text of the arguments for an escape.
fn joined(work: &mut Work, a: &Arguments) -> Outcome<Vec<u8>> {
    let values: Vec<Value> = a
        .all()
        .iter()
        .map(|value| if value.is_nothing() { Value::text("<no value>") } else { value.clone() })
        .collect();
    format::print(work, &values)
}

/// Text for a string of JavaScript.
fn script_escaped(text: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    for c in String::from_utf8_lossy(text).chars() {
        let escaped = match c {
            '\\' => "\\\\".to_owned(),
            '\'' => "\\'".to_owned(),
            '"' => "\\\"".to_owned(),
            '<' | '>' | '&' | '=' => format!("\\u{:04X}", u32::from(c)),
            c if c.is_ascii() && u32::from(c) < 0x20 => format!("\\u{:04X}", u32::from(c)),
            c if c.is_ascii() || is_printable(c) => c.to_string(),
            c => format!("\\u{:04X}", u32::from(c)),
        };
        output.extend_from_slice(escaped.as_bytes());
    }
    output
}
