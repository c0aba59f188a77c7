//! Strings: searching, cutting, replacing, joining.

use std::collections::BTreeMap;

use super::casting::{strings, strval};
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::format::{self, quote};
use crate::values::{Element, List, MapType, Value, Work};
use Parameter::{Any, Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("hello", &[], |work, _| work.text("Hello!")),
    function("trim", &[Text], |work, a| {
        let text = a.characters(0);
        work.text(text.trim_matches(is_space))
    }),
    function("trimall", &[Text, Text], trim_all),
    function("trimAll", &[Text, Text], trim_all),
    function("trimPrefix", &[Text, Text], |work, a| {
        work.text(a.text(1).strip_prefix(a.text(0)).unwrap_or(a.text(1)))
    }),
    function("trimSuffix", &[Text, Text], |work, a| {
        work.text(a.text(1).strip_suffix(a.text(0)).unwrap_or(a.text(1)))
    }),
    function("contains", &[Text, Text], |work, a| {
        work.steps(a.text(1).len() / 64)?;
        Ok(Value::Bool(find(a.text(1), a.text(0)).is_some()))
    }),
    function("hasPrefix", &[Text, Text], |_, a| Ok(Value::Bool(a.text(1).starts_with(a.text(0))))),
    function("hasSuffix", &[Text, Text], |_, a| Ok(Value::Bool(a.text(1).ends_with(a.text(0))))),
    function("repeat", &[Int, Text], repeat),
    function("substr", &[Int, Int, Text], substr),
    function("trunc", &[Int, Text], trunc),
    function("replace", &[Text, Text, Text], |work, a| {
        let text = replace(work, a.text(2), a.text(0), a.text(1))?;
        work.text(text)
    }),
    function("indent", &[Int, Text], |work, a| {
        let text = indent(work, a.int(0), a.text(1))?;
        work.text(text)
    }),
    function("nindent", &[Int, Text], |work, a| {
        let mut text = indent(work, a.int(0), a.text(1))?;
        text.insert(0, b'\n');
        work.text(text)
    }),
    function("plural", &[Text, Text, Int], |_, a| Ok(a.value(if a.int(2) == 1 { 0 } else { 1 }).clone())),
    variadic("quote", &[], Any, |work, a| {
        quoted(work, a, |work, value| {
            let text = strval(work, value)?;
            Ok(quote::string(&text, false))
        })
    }),
    variadic("squote", &[], Any, |work, a| {
        quoted(work, a, |work, value| Ok([b"'", format::text(work, value)?.as_slice(), b"'"].concat()))
    }),
    variadic("cat", &[], Any, |work, a| {
        let text = quoted_parts(work, a, format::text)?;
        work.text(text)
    }),
    function("toString", &[Any], |work, a| {
        let text = strval(work, a.value(0))?;
        work.text(text)
    }),
    function("toStrings", &[Any], |work, a| strings(work, a.value(0))),
    function("join", &[Text, Any], join),
    function("sortAlpha", &[Any], sort),
    function("split", &[Text, Text], |work, a| split(work, a.text(1), a.text(0), -1)),
    function("splitn", &[Text, Int, Text], |work, a| split(work, a.text(2), a.text(0), a.int(1))),
    function("splitList", &[Text, Text], |work, a| {
        let parts = parts(work, a.text(1), a.text(0), -1)?;
        work.texts(parts)
    }),
];

/// White space as Go's `unicode.IsSpace` has it.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// The position of the first occurrence.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    let first = part[0];
    let mut start = 0;
    while let Some(position) = text[start..].iter().position(|byte| *byte == first) {
        start += position;
        if text[start..].starts_with(part) {
            return Some(start);
        }
        start += 1;
    }
    None
}

fn trim_all(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let (set, text) = (a.characters(0), a.characters(1));
    work.steps(set.len() * text.len() / 1024)?;
    work.text(text.trim_matches(|c| set.contains(c)))
}

fn repeat(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let Ok(count) = usize::try_from(a.int(0)) else { return Err("the count is negative".into()) };
    work.bytes(count.saturating_mul(a.text(1).len()))?;
    work.text(a.text(1).repeat(if a.text(1).is_empty() { 0 } else { count }))
}

/// A part of the text, or an error if there is no such part.
pub(super) fn cut(text: &[u8], start: i64, end: i64) -> Outcome<&[u8]> {
    let bounds = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let part = bounds.and_then(|(start, end)| text.get(start..end));
    part.ok_or_else(|| format!("there is no part from {start} to {end} of {} bytes", text.len()).into())
}

fn substr(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let (start, end, text) = (a.int(0), a.int(1), a.text(2));
    let length = text.len() as i64;
    let part = match (start, end) {
        (start, end) if start < 0 => cut(text, 0, end)?,
        (start, end) if end < 0 || end > length => cut(text, start, length)?,
        (start, end) => cut(text, start, end)?,
    };
    work.text(part)
}

fn trunc(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let (count, text) = (a.int(0), a.text(1));
    let length = text.len() as i64;
    let part = match count {
        count if count < 0 && length.saturating_add(count) > 0 => cut(text, length + count, length)?,
        count if count >= 0 && length > count => cut(text, 0, count)?,
        _ => text,
    };
    work.text(part)
}

/// Replaces all occurrences. An empty one is before each character and at the end.
pub(super) fn replace(work: &mut Work, text: &[u8], old: &[u8], new: &[u8]) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    if old.is_empty() {
        for chunk in text.utf8_chunks() {
            let ends = chunk
                .valid()
                .char_indices()
                .map(|(start, c)| &chunk.valid().as_bytes()[start..start + c.len_utf8()]);
            for character in ends.chain(chunk.invalid().chunks(1)) {
                work.append(&mut output, new)?;
                work.append(&mut output, character)?;
            }
        }
        work.append(&mut output, new)?;
        return Ok(output);
    }
    let mut rest = text;
    while let Some(position) = find(rest, old) {
        work.append(&mut output, &rest[..position])?;
        work.append(&mut output, new)?;
        rest = &rest[position + old.len()..];
    }
    work.append(&mut output, rest)?;
    Ok(output)
}

fn indent(work: &mut Work, spaces: i64, text: &[u8]) -> Outcome<Vec<u8>> {
    let Ok(spaces) = usize::try_from(spaces) else { return Err("the count is negative".into()) };
    work.bytes(spaces)?;
    let padding = b" ".repeat(spaces);
    let line = [b"\n", padding.as_slice()].concat();
    let mut output = padding;
    output.extend(replace(work, text, b"\n", &line)?);
    Ok(output)
}

fn quoted(
    work: &mut Work,
    a: &Arguments,
    one: impl Fn(&mut Work, &Value) -> Outcome<Vec<u8>>,
) -> Outcome<Value> {
    let text = quoted_parts(work, a, one)?;
    work.text(text)
}

/// The texts of all arguments but nil, with spaces between them.
fn quoted_parts(
    work: &mut Work,
    a: &Arguments,
    one: impl Fn(&mut Work, &Value) -> Outcome<Vec<u8>>,
) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    for (position, value) in a.all().iter().filter(|value| !value.is_nothing()).enumerate() {
        if position > 0 {
            output.push(b' ');
        }
        let text = one(work, value)?;
        work.append(&mut output, &text)?;
    }
    Ok(output)
}

fn join(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let Value::List(list) = strings(work, a.value(1))? else { return work.text("") };
    let mut output = Vec::new();
    for (position, item) in list.items().iter().enumerate() {
        if position > 0 {
            work.append(&mut output, a.text(0))?;
        }
        if let Value::Text(text) = item {
            work.append(&mut output, text)?;
        }
    }
    work.text(output)
}

fn sort(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let Value::List(list) = strings(work, a.value(0))? else { return Ok(Value::Nil) };
    if a.value(0).is_nothing() {
        // What is no list is one string, and that of nil is `<nil>`.
        return work.texts(["<nil>"]);
    }
    if list.is_nil() {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    work.steps(list.items().len() * 4)?;
    let mut items = list.items().to_vec();
    items.sort_by(|one, two| match (one, two) {
        (Value::Text(one), Value::Text(two)) => one.cmp(two),
        _ => std::cmp::Ordering::Equal,
    });
    work.list(Element::Text, items)
}

/// The parts between separators, at most `count` if that is not negative.
fn parts<'t>(work: &mut Work, text: &'t [u8], separator: &[u8], count: i64) -> Outcome<Vec<&'t [u8]>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        work.steps(1)?;
        if count >= 0 && parts.len() as i64 + 1 >= count {
            break;
        }
        let found = if separator.is_empty() {
            let length = rest
                .utf8_chunks()
                .next()
                .and_then(|chunk| chunk.valid().chars().next())
                .map_or(1, char::len_utf8);
            (rest.len() > length).then_some(length)
        } else {
            find(rest, separator)
        };
        let Some(position) = found else { break };
        parts.push(&rest[..position]);
        rest = &rest[position + separator.len()..];
    }
    if count != 0 && !(separator.is_empty() && text.is_empty()) {
        parts.push(rest);
    }
    Ok(parts)
}

/// The parts as a map with the keys `_0`, `_1` and so on.
fn split(work: &mut Work, text: &[u8], separator: &[u8], count: i64) -> Outcome<Value> {
    let mut entries = BTreeMap::new();
    for (position, part) in parts(work, text, separator, count)?.into_iter().enumerate() {
        let value = work.text(part)?;
        entries.insert(format!("_{position}").into_bytes().into(), value);
    }
    work.map(MapType::Text, entries)
}
