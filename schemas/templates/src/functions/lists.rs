//! Lists. A function and its `must` form do the same here: what the one does by panic, the other does by an error.

use super::casting::to_int;
use super::defaults::is_empty;
use super::equality::equal;
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::values::{Element, List, Value, Work};
use Parameter::{Any, Int};

pub(super) const FUNCTIONS: &[Function] = &[
    variadic("list", &[], Any, |work, a| work.list(Element::Any, a.all().to_vec())),
    variadic("tuple", &[], Any, |work, a| work.list(Element::Any, a.all().to_vec())),
    function("append", &[Any, Any], push),
    function("push", &[Any, Any], push),
    function("mustAppend", &[Any, Any], push),
    function("mustPush", &[Any, Any], push),
    function("prepend", &[Any, Any], prepend),
    function("mustPrepend", &[Any, Any], prepend),
    function("first", &[Any], |_, a| Ok(items(a.value(0))?.first().cloned().unwrap_or(Value::Nil))),
    function("mustFirst", &[Any], |_, a| Ok(items(a.value(0))?.first().cloned().unwrap_or(Value::Nil))),
    function("last", &[Any], |_, a| Ok(items(a.value(0))?.last().cloned().unwrap_or(Value::Nil))),
    function("mustLast", &[Any], |_, a| Ok(items(a.value(0))?.last().cloned().unwrap_or(Value::Nil))),
    function("rest", &[Any], rest),
    function("mustRest", &[Any], rest),
    function("initial", &[Any], initial),
    function("mustInitial", &[Any], initial),
    function("reverse", &[Any], reverse),
    function("mustReverse", &[Any], reverse),
    function("uniq", &[Any], uniq),
    function("mustUniq", &[Any], uniq),
    variadic("without", &[Any], Any, without),
    variadic("mustWithout", &[Any], Any, without),
    function("has", &[Any, Any], has),
    function("mustHas", &[Any, Any], has),
    function("compact", &[Any], compact),
    function("mustCompact", &[Any], compact),
    variadic("slice", &[Any], Any, slice),
    variadic("mustSlice", &[Any], Any, slice),
    variadic("concat", &[], Any, concat),
    function("chunk", &[Int, Any], chunk),
    function("mustChunk", &[Int, Any], chunk),
];

/// The elements of a list.
fn items(value: &Value) -> Outcome<&[Value]> {
    match value {
        Value::List(list) => Ok(list.items()),
        other => Err(format!("a value of type {} is no list", other.type_name()).into()),
    }
}

fn push(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut list = items(a.value(0))?.to_vec();
    list.push(a.value(1).clone());
    work.list(Element::Any, list)
}

fn prepend(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut list = vec![a.value(1).clone()];
    list.extend_from_slice(items(a.value(0))?);
    work.list(Element::Any, list)
}

fn rest(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    match items(a.value(0))?.split_first() {
        Some((_, rest)) => work.list(Element::Any, rest.to_vec()),
        None => Ok(Value::List(List::nil(Element::Any))),
    }
}

fn initial(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    match items(a.value(0))?.split_last() {
        Some((_, initial)) => work.list(Element::Any, initial.to_vec()),
        None => Ok(Value::List(List::nil(Element::Any))),
    }
}

fn reverse(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    work.list(Element::Any, items(a.value(0))?.iter().rev().cloned().collect())
}

fn contains(work: &mut Work, list: &[Value], item: &Value) -> Outcome<bool> {
    for known in list {
        if equal(work, known, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut list = Vec::new();
    for item in items(a.value(0))? {
        if !contains(work, &list, item)? {
            list.push(item.clone());
        }
    }
    work.list(Element::Any, list)
}

fn without(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut list = Vec::new();
    for item in items(a.value(0))? {
        if !contains(work, a.from(1), item)? {
            list.push(item.clone());
        }
    }
    work.list(Element::Any, list)
}

fn has(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    if a.value(1).is_nothing() {
        return Ok(Value::Bool(false));
    }
    contains(work, items(a.value(1))?, a.value(0)).map(Value::Bool)
}

fn compact(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let kept = items(a.value(0))?.iter().filter(|item| !is_empty(item)).cloned().collect();
    work.list(Element::Any, kept)
}

/// A part of a list, which keeps its type. An empty list has only nil.
fn slice(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let list = items(a.value(0))?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let start = a.from(1).first().map_or(0, to_int);
    let end = a.from(2).first().map_or(list.len() as i64, to_int);
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let Some(part) = bounds.and_then(|(start, end)| list.get(start..end)) else {
        return Err(format!("there is no part from {start} to {end} of {} elements", list.len()).into());
    };
    let element = if let Value::List(list) = a.value(0) { list.element() } else { Element::Any };
    work.list(element, part.to_vec())
}

fn concat(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let mut all = Vec::new();
    for list in a.all() {
        let items = items(list)?;
        work.bytes(size_of_val(items))?;
        all.extend_from_slice(items);
    }
    if all.is_empty() {
        return Ok(Value::List(List::nil(Element::Any)));
    }
    work.list(Element::Any, all)
}

/// Lists of a size, the last of which may be shorter.
fn chunk(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let list = items(a.value(1))?;
    let Some(size) = usize::try_from(a.int(0)).ok().filter(|size| *size > 0) else {
        return Err(format!("{} is no size", a.int(0)).into());
    };
    let mut chunks = Vec::new();
    for part in list.chunks(size) {
        chunks.push(work.list(Element::Any, part.to_vec())?);
    }
    work.list(Element::Lists, chunks)
}
