//! Evaluates a parsed template.

use super::glob::Glob;
use super::parse::{Expansion, Node, Operation};
use super::{Error, Lookup, Result};

/// Replaces the expansions in `nodes` and returns the text.
///
/// # Errors
/// The length of a substring is negative.
pub(super) fn evaluate(nodes: &[Node], lookup: Lookup<'_>) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for node in nodes {
        match node {
            Node::Text(literal) => text.extend_from_slice(literal.as_bytes()),
            Node::Expansion(expansion) => text.extend(replaced(expansion, lookup)?),
        }
    }
    Ok(text)
}

fn replaced(expansion: &Expansion, lookup: Lookup<'_>) -> Result<Vec<u8>> {
    let value = lookup(&expansion.name).unwrap_or_default();
    let mut arguments = expansion.arguments.iter().map(|argument| evaluate(argument, lookup));
    let first = arguments.next().transpose()?;
    let second = arguments.next().transpose()?;
    let argument = first.as_deref().unwrap_or_default();
    Ok(match expansion.operation {
        Operation::Keep => value.into_bytes(),
        Operation::Length => value.len().to_string().into_bytes(),
        Operation::Default if value.is_empty() => argument.to_vec(),
        Operation::Default => value.into_bytes(),
        Operation::FirstUpper => first_letter(&value, upper),
        Operation::Upper => value.chars().map(upper).collect::<String>().into_bytes(),
        Operation::FirstLower => first_letter(&value, lower),
        Operation::Lower => value.chars().map(lower).collect::<String>().into_bytes(),
        Operation::Substring => substring(value.as_bytes(), argument, second.as_deref())?,
        Operation::TrimPrefix { longest } => trimmed(value.as_bytes(), argument, longest),
        Operation::TrimSuffix { longest } => {
            // A suffix is trimmed as a prefix of the reversed text. The pattern is reversed too, so escapes and classes do not work in
            // it.
            reversed(&trimmed(&reversed(value.as_bytes()), &reversed(argument), longest))
        }
        Operation::Replace => replace(value.as_bytes(), argument, second.as_deref(), 1),
        Operation::ReplaceAll => replace(value.as_bytes(), argument, second.as_deref(), usize::MAX),
        Operation::ReplacePrefix => match (value.as_bytes().strip_prefix(argument), second) {
            (Some(rest), Some(new)) => [&new, rest].concat(),
            _ => value.into_bytes(),
        },
        Operation::ReplaceSuffix => match (value.as_bytes().strip_suffix(argument), second) {
            (Some(rest), Some(new)) => [rest, &new].concat(),
            _ => value.into_bytes(),
        },
    })
}

/// The upper case of a letter. A letter whose upper case has more than one letter is not changed.
fn upper(letter: char) -> char {
    let mut letters = letter.to_uppercase();
    letters.next().filter(|_| letters.next().is_none()).unwrap_or(letter)
}

fn lower(letter: char) -> char {
    let mut letters = letter.to_lowercase();
    letters.next().filter(|_| letters.next().is_none()).unwrap_or(letter)
}

fn first_letter(value: &str, change: fn(char) -> char) -> Vec<u8> {
    let mut letters = value.chars();
    let first = letters.next().map(change);
    first.into_iter().chain(letters).collect::<String>().into_bytes()
}

/// Parses a decimal number of 64 bits.
fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A part of a value, in bytes; the whole value if position or length are not numbers.
fn substring(value: &[u8], position: &[u8], length: Option<&[u8]>) -> Result<Vec<u8>> {
    let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let Some(position) = number(position) else { return Ok(value.to_vec()) };
    let start = if position < 0 { position.saturating_add(size).max(0) } else { position.min(size) };
    let end = match length.map(number) {
        None => size,
        Some(None) => return Ok(value.to_vec()),
        Some(Some(length)) if length < 0 => {
            return Err(Error::Template("bad substitution: the length is negative".to_owned()));
        }
        Some(Some(length)) => start.saturating_add(length).min(size),
    };
    let place = |at: i64| usize::try_from(at).unwrap_or_default();
    Ok(value.get(place(start)..place(end)).unwrap_or_default().to_vec())
}

fn trimmed(value: &[u8], pattern: &[u8], longest: bool) -> Vec<u8> {
    let Some(glob) = Glob::new(pattern) else { return value.to_vec() };
    let fits = |length: &usize| value.get(..*length).is_some_and(|prefix| glob.matches(prefix));
    let mut lengths = 1..=value.len();
    let length = if longest { lengths.rev().find(fits) } else { lengths.find(fits) };
    value.get(length.unwrap_or_default()..).unwrap_or_default().to_vec()
}

fn reversed(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).chars().rev().collect::<String>().into_bytes()
}

fn replace(value: &[u8], old: &[u8], new: Option<&[u8]>, times: usize) -> Vec<u8> {
    let (value, old) = (String::from_utf8_lossy(value), String::from_utf8_lossy(old));
    let new = String::from_utf8_lossy(new.unwrap_or_default());
    value.replacen(old.as_ref(), &new, times).into_bytes()
}
