//! String functions of CEL, of cel-go's `ext.Strings` and of Kubernetes' regex library.

use machinery::pattern::{self, Pattern};

use super::format;
use crate::limits::{MAX_CEL_ITEMS, MAX_CEL_TEXT};
use crate::values::{CANCELLED, Failure, Outcome, Val, no_overload, work};

fn range<'a>(at: i64) -> Outcome<'a> {
    Err(format!("index out of range: {at}").into())
}

fn texts<'a>(items: impl IntoIterator<Item = String>) -> Outcome<'a> {
    Ok(Val::list(items.into_iter().map(Val::text).collect()))
}

fn with_pattern<'a, T>(
    source: &str,
    compiled: Option<&Pattern>,
    then: impl FnOnce(&Pattern) -> T,
) -> Result<T, Failure>
where
    T: 'a,
{
    match compiled {
        Some(pattern) => Ok(then(pattern)),
        None => {
            let wrong = |error: pattern::Error| Failure::from(format!("error parsing regexp: {error}"));
            let tree = pattern::parse(source).map_err(wrong)?;
            if !work::pattern(&tree) {
                return Err(CANCELLED);
            }
            Ok(then(&tree.compile(source).map_err(wrong)?))
        }
    }
}

pub(super) fn call<'a>(
    name: &str,
    member: bool,
    args: &[Val<'a>],
    pattern: Option<&Pattern>,
) -> Option<Outcome<'a>> {
    if let ("join", [list @ (Val::List(_) | Val::Array(..)), rest @ ..]) = (name, args) {
        return Some(join(list, rest));
    }
    let (Val::Text(text), rest) = args.split_first()? else { return None };
    let text = &**text;
    match (name, rest) {
        ("strings.quote", []) => return Some(Ok(Val::text(quote(text)))),
        ("jsonpatch.escapeKey", []) => return Some(escape_key(text)),
        _ => {}
    }
    if !member && name != "matches" {
        return None;
    }
    Some(match (name, rest) {
        ("contains", [Val::Text(part)]) => Ok(Val::Bool(text.contains(&**part))),
        ("startsWith", [Val::Text(part)]) => Ok(Val::Bool(text.starts_with(&**part))),
        ("endsWith", [Val::Text(part)]) => Ok(Val::Bool(text.ends_with(&**part))),
        ("matches", [Val::Text(source)]) => {
            with_pattern(source, pattern, |pattern| Val::Bool(pattern.is_match(text)))
        }
        ("find", [Val::Text(source)]) => with_pattern(source, pattern, |pattern| {
            Val::text(pattern.search(text).next().map_or("", |found| &text[found]))
        })
        .map_err(illegal),
        ("findAll", [Val::Text(source)]) => find_all(text, source, pattern, None),
        ("findAll", [Val::Text(source), Val::Int(limit)]) => find_all(text, source, pattern, Some(*limit)),
        ("lowerAscii", []) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::text(text.trim())),
        ("charAt", [Val::Int(at)]) => char_at(text, *at),
        ("indexOf" | "lastIndexOf", [Val::Text(part), from @ ..]) => return index_of(name, text, part, from),
        ("replace", [Val::Text(from), Val::Text(to)]) => replace(text, from, to, usize::MAX),
        ("replace", [Val::Text(from), Val::Text(to), Val::Int(limit)]) => {
            replace(text, from, to, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        ("split", [Val::Text(by)]) => split(text, by, -1),
        ("split", [Val::Text(by), Val::Int(limit)]) => split(text, by, *limit),
        ("substring", [Val::Int(from)]) => substring(text, *from, None),
        ("substring", [Val::Int(from), Val::Int(to)]) => substring(text, *from, Some(*to)),
        ("format", [list @ (Val::List(_) | Val::Array(..))]) => {
            format::format(text, &list.items().unwrap_or_default())
        }
        _ => return None,
    })
}

/// Checks that a text or list of this size may be created.
fn fits(bytes: usize, items: usize) -> Result<(), Failure> {
    if bytes > MAX_CEL_TEXT || items > MAX_CEL_ITEMS { Err(CANCELLED) } else { Ok(()) }
}

/// Writes a key as a part of the path of a JSON patch.
fn escape_key<'a>(text: &str) -> Outcome<'a> {
    fits(text.len().saturating_mul(2), 0)?;
    Ok(Val::text(text.replace('~', "~0").replace('/', "~1")))
}

fn replace<'a>(text: &str, from: &str, to: &str, limit: usize) -> Outcome<'a> {
    let count = text.matches(from).take(limit).count();
    fits(count.saturating_mul(to.len()).saturating_add(text.len()), 0)?;
    Ok(Val::text(text.replacen(from, to, limit)))
}

fn join<'a>(list: &Val<'a>, rest: &[Val<'a>]) -> Outcome<'a> {
    let by = match rest {
        [] => "",
        [Val::Text(by)] => by,
        _ => return Err(no_overload("join", &[std::slice::from_ref(list), rest].concat(), false)),
    };
    let mut parts = Vec::new();
    for item in list.items().unwrap_or_default() {
        match item {
            Val::Text(text) => parts.push(text),
            _ => return Err(no_overload("join", &[std::slice::from_ref(list), rest].concat(), false)),
        }
    }
    let bytes = parts.iter().map(|part| part.len().saturating_add(by.len())).fold(0, usize::saturating_add);
    fits(bytes, 0)?;
    Ok(Val::text(parts.join(by)))
}

fn find_all<'a>(text: &str, source: &str, pattern: Option<&Pattern>, limit: Option<i64>) -> Outcome<'a> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let found = with_pattern(source, pattern, |pattern| {
        pattern.search(text).take(limit).map(|found| text[found].to_owned()).collect::<Vec<_>>()
    })
    .map_err(illegal)?;
    texts(found)
}

fn illegal(failure: Failure) -> Failure {
    format!("Illegal regex: {failure}").into()
}

fn char_at<'a>(text: &str, at: i64) -> Outcome<'a> {
    let count = text.chars().count() as i64;
    if at < 0 || at > count {
        return range(at);
    }
    Ok(Val::text(text.chars().nth(at as usize).map(String::from).unwrap_or_default()))
}

fn index_of<'a>(name: &str, text: &str, part: &str, from: &[Val<'a>]) -> Option<Outcome<'a>> {
    let chars: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let count = chars.len() as i64;
    let last = name == "lastIndexOf";
    let start = match from {
        [] if last => count,
        [] => 0,
        [Val::Int(start)] => *start,
        _ => return None,
    };
    if start < 0 {
        return Some(range(start));
    }
    if start > count {
        return Some(Ok(Val::Int(-1)));
    }
    let fits = |at: &usize| chars[*at..].starts_with(&part);
    let room = chars.len().checked_sub(part.len());
    let found = match room {
        None => None,
        Some(room) if last => (0..=room.min(start as usize)).rev().find(fits),
        Some(room) => (start as usize..=room).find(fits),
    };
    Some(Ok(Val::Int(found.map_or(-1, |at| at as i64))))
}

fn split<'a>(text: &str, by: &str, limit: i64) -> Outcome<'a> {
    fits(0, if by.is_empty() { text.len() } else { text.matches(by).count() })?;
    let parts: Vec<String> = match (limit, by.is_empty()) {
        (0, _) => Vec::new(),
        (limit, true) => {
            let chars: Vec<char> = text.chars().collect();
            let whole =
                usize::try_from(limit).map_or(chars.len(), |limit| limit.saturating_sub(1)).min(chars.len());
            let mut parts: Vec<String> = chars[..whole].iter().map(char::to_string).collect();
            if whole < chars.len() {
                parts.push(chars[whole..].iter().collect());
            }
            parts
        }
        (limit, false) => match usize::try_from(limit) {
            Ok(limit) => text.splitn(limit, by).map(str::to_owned).collect(),
            Err(_) => text.split(by).map(str::to_owned).collect(),
        },
    };
    texts(parts)
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Outcome<'a> {
    let count = text.chars().count() as i64;
    let to = to.unwrap_or(count);
    if from < 0 || from > count {
        return range(from);
    }
    if to < 0 || to > count {
        return range(to);
    }
    if from > to {
        return Err(format!("invalid substring range. start: {from}, end: {to}").into());
    }
    Ok(Val::text(text.chars().skip(from as usize).take((to - from) as usize).collect::<String>()))
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
