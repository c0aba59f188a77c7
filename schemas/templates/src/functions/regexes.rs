//! Regular expressions.

use regex::bytes::{Captures, Match, Regex};

use super::{Arguments, Function, Parameter, function, patterns};
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
fn compile(pattern: &[u8]) -> Outcome<Regex> {
    let text = std::str::from_utf8(pattern).map_err(|_| Failure::from("the pattern is not UTF-8"))?;
    let translated =
        patterns::translated(text).map_err(|wrong| format!("the pattern {text:?} is wrong: {wrong}"))?;
    let built = regex::bytes::RegexBuilder::new(&translated)
        .size_limit(limits::REGEX_BYTES_MAX)
        .dfa_size_limit(limits::REGEX_BYTES_MAX)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(limit) => Failure::Limit("bytes for a pattern", limit as u64),
        _ => format!("the pattern {text:?} is wrong").into(),
    })
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
    work.text(regex.find(a.text(1)).map_or(&b""[..], |found| found.as_bytes()))
}

/// The matches, at most `most` if that is not negative.
fn all<'t>(work: &mut Work, regex: &Regex, text: &'t [u8], most: i64) -> Outcome<Vec<Match<'t>>> {
    let mut found = Vec::new();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    for one in regex.find_iter(text).take(most) {
        count(work, text, one.start())?;
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
    work.texts(found.iter().map(Match::as_bytes))
}

fn replace(work: &mut Work, a: &Arguments, literal: bool) -> Outcome<Value> {
    let regex = work.regex(a.text(0), compile)?;
    let (text, new) = (a.text(1), a.text(2));
    let mut output = Vec::new();
    let mut end = 0;
    for captures in regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else { continue };
        count(work, text, whole.start())?;
        work.append(&mut output, &text[end..whole.start()])?;
        if literal {
            work.append(&mut output, new)?;
        } else {
            expand(work, new, &captures, &mut output)?;
        }
        end = whole.end();
    }
    work.append(&mut output, &text[end..])?;
    work.text(output)
}

/// Replaces `$1`, `${1}`, `$name` and `${name}` by what the groups have matched. A name is as long as possible.
fn expand(work: &mut Work, new: &[u8], captures: &Captures<'_>, output: &mut Vec<u8>) -> Outcome<()> {
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
            Ok(number) if name.bytes().all(|byte| byte.is_ascii_digit()) => captures.get(number),
            _ => captures.name(name),
        };
        work.append(output, found.map_or(&b""[..], |found| found.as_bytes()))?;
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
        end = one.start();
        if one.end() != 0 {
            parts.push(&text[begin..end]);
        }
        begin = one.end();
    }
    if end != text.len() {
        parts.push(&text[begin..]);
    }
    work.texts(parts)
}
