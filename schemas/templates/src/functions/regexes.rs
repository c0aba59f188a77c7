//! Regular expressions.

use std::ops::Range;

use machinery::pattern::{Pattern, Search, parse};

use super::{Arguments, Function, Parameter, function};
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::values::{Element, List, Value, Work};
use Parameter::{Int, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    function("regexMatch", &[Text, Text], |work, a| match matches(work, a) {
        // A wrong pattern matches nothing.
        Err(Failure::Message(_)) => Ok(Value::Bool(false)),
        result => result,
    }),
    function("mustRegexMatch", &[Text, Text], matches),
    function("regexFind", &[Text, Text], find),
    function("mustRegexFind", &[Text, Text], find),
    function("regexFindAll", &[Text, Text, Int], find_all),
    function("mustRegexFindAll", &[Text, Text, Int], find_all),
    function("regexReplaceAll", &[Text, Text, Text], |work, a| replace(work, a, false)),
    function("mustRegexReplaceAll", &[Text, Text, Text], |work, a| replace(work, a, false)),
    function("regexReplaceAllLiteral", &[Text, Text, Text], |work, a| replace(work, a, true)),
    function("mustRegexReplaceAllLiteral", &[Text, Text, Text], |work, a| replace(work, a, true)),
    function("regexSplit", &[Text, Text, Int], split),
    function("mustRegexSplit", &[Text, Text, Int], split),
    function("regexQuoteMeta", &[Text], |work, a| {
        let mut output = Vec::new();
        for byte in a.text(0) {
            if br"\.+*?()|[]{}^$".contains(byte) {
                output.push(b'\\');
            }
            output.push(*byte);
        }
        work.text(output)
    }),
];

/// Compiles a pattern.
fn compile(pattern: &[u8]) -> Outcome<Pattern> {
    let text = std::str::from_utf8(pattern).map_err(|_| Failure::from("the pattern is not UTF-8"))?;
    let tree = parse(text).map_err(|wrong| format!("error parsing regexp: {wrong}"))?;
    let too_large = || Failure::Limit("parts of a pattern", limits::REGEX_SIZE_MAX);
    if tree.size() > limits::REGEX_SIZE_MAX {
        return Err(too_large());
    }
    tree.compile(text).map_err(|_| too_large())
}

/// Counts a search in the rest of a text, which may be read to its end before a match at its beginning is certain.
fn count(work: &mut Work, text: &[u8], start: usize) -> Outcome<()> {
    work.steps(1 + (text.len() - start.min(text.len())) / 1024)
}

fn matches(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    count(work, a.text(1), 0)?;
    Ok(Value::Bool(regex.is_match(a.text(1))))
}

fn find(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    count(work, a.text(1), 0)?;
    work.text(regex.search(a.text(1)).next().map_or(&b""[..], |found| &a.text(1)[found]))
}

/// The matches, at most `most` if that is not negative.
fn all(work: &mut Work, regex: &Pattern, text: &[u8], most: i64) -> Outcome<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    for one in regex.search(text).take(most) {
        count(work, text, one.start)?;
        found.push(one);
    }
    Ok(found)
}

fn find_all(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    let found = all(work, &regex, a.text(1), a.int(2))?;
    if found.is_empty() {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    work.texts(found.into_iter().map(|one| &a.text(1)[one]))
}

fn replace(work: &mut Work, a: &Arguments, literal: bool) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    let (text, new) = (a.text(1), a.text(2));
    let mut output = Vec::new();
    let mut end = 0;
    let mut search = regex.search(text);
    while let Some(whole) = search.next() {
        count(work, text, whole.start)?;
        work.append(&mut output, &text[end..whole.start])?;
        if literal {
            work.append(&mut output, new)?;
        } else {
            expand(work, new, &Groups { regex: &regex, search: &search, text }, &mut output)?;
        }
        end = whole.end;
    }
    work.append(&mut output, &text[end..])?;
    work.text(output)
}

/// What the groups of a match have matched.
struct Groups<'s> {
    regex: &'s Pattern,
    search: &'s Search<'s>,
    text: &'s [u8],
}

impl Groups<'_> {
    fn number(&self, number: usize) -> Option<&[u8]> {
        self.search.group(number).map(|found| &self.text[found])
    }

    /// The first group of the name that has matched something.
    fn name(&self, name: &str) -> Option<&[u8]> {
        let names = self.regex.names().iter().enumerate();
        names.filter(|(_, known)| known.as_deref() == Some(name)).find_map(|(at, _)| self.number(at))
    }
}

/// Replaces `$1`, `${1}`, `$name` and `${name}` by what the groups have matched. A name is as long as possible.
fn expand(work: &mut Work, new: &[u8], groups: &Groups<'_>, output: &mut Vec<u8>) -> Outcome<()> {
    let mut rest = new;
    while let Some(position) = rest.iter().position(|byte| *byte == b'$') {
        work.append(output, &rest[..position])?;
        rest = &rest[position + 1..];
        if let Some(after) = rest.strip_prefix(b"$") {
            output.push(b'$');
            rest = after;
            continue;
        }
        let braced = rest.strip_prefix(b"{");
        let named = braced.unwrap_or(rest);
        let text = named.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let length = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
        let closes = braced.is_none() || named.get(length) == Some(&b'}');
        if length == 0 || !closes {
            output.push(b'$');
            continue;
        }
        rest = &named[length + usize::from(braced.is_some())..];
        let name = &text[..length];
        let found = match name.parse::<usize>() {
            Ok(number) if name.bytes().all(|byte| byte.is_ascii_digit()) => groups.number(number),
            _ => groups.name(name),
        };
        work.append(output, found.unwrap_or_default())?;
    }
    work.append(output, rest)
}

/// The text between the matches, in at most `most` parts if that is not negative.
fn split(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    let (text, most) = (a.text(1), a.int(2));
    if most == 0 {
        return Ok(Value::List(List::nil(Element::Text)));
    }
    if !a.text(0).is_empty() && text.is_empty() {
        return work.texts([""]);
    }
    let (mut parts, mut begin, mut end) = (Vec::new(), 0, 0);
    for one in all(work, &regex, text, most)? {
        if most > 0 && parts.len() as i64 == most - 1 {
            break;
        }
        end = one.start;
        if one.end != 0 {
            parts.push(&text[begin..end]);
        }
        begin = one.end;
    }
    if end != text.len() {
        parts.push(&text[begin..]);
    }
    work.texts(parts)
}
