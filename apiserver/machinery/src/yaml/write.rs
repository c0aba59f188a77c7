//! Writes values as YAML documents.

use std::cmp::Ordering;
use std::io;

use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, ScalarStyle, SequenceStyle};
use serde_json::Value;

use super::resolve::{Scalar, resolve};

/// Writes one value as a document, with a line feed at the end.
///
/// # Errors
/// The emitter fails; this program's values do not cause that.
pub fn write(value: &Value) -> io::Result<String> {
    let mut bytes = Vec::new();
    emit(value, &mut bytes).map_err(|error| io::Error::other(error.problem().to_owned()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The emitter adds a mark after texts that end in empty lines; other writers do not.
    Ok(text.strip_suffix("...\n").map_or(text.clone(), str::to_owned))
}

fn emit(value: &Value, bytes: &mut Vec<u8>) -> libyaml_safer::Result<()> {
    let mut emitter = Emitter::new();
    emitter.set_output_string(bytes);
    emitter.set_unicode(true);
    emitter.set_width(-1);
    emitter.emit(Event::stream_start(Encoding::Utf8))?;
    emitter.emit(Event::document_start(None, &[], true))?;
    node(value, &mut emitter)?;
    emitter.emit(Event::document_end(true))?;
    emitter.emit(Event::stream_end())?;
    emitter.flush()
}

fn node(value: &Value, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    match value {
        Value::Null => plain("null", emitter),
        Value::Bool(value) => plain(if *value { "true" } else { "false" }, emitter),
        Value::Number(number) => plain(&shown(number), emitter),
        Value::String(text) => string(text, emitter),
        Value::Array(items) => {
            emitter.emit(Event::sequence_start(None, None, true, SequenceStyle::Block))?;
            items.iter().try_for_each(|item| node(item, emitter))?;
            emitter.emit(Event::sequence_end())
        }
        Value::Object(fields) => {
            emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| key_order(a, b));
            for (key, value) in fields {
                string(key, emitter)?;
                node(value, emitter)?;
            }
            emitter.emit(Event::mapping_end())
        }
    }
}

fn plain(text: &str, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    emitter.emit(Event::scalar(None, None, text, true, true, ScalarStyle::Plain))
}

/// Writes several lines as a block, and in quotes a text that would be read as another type.
fn string(text: &str, emitter: &mut Emitter<'_>) -> libyaml_safer::Result<()> {
    let style = match () {
        () if text.contains('\n') => ScalarStyle::Literal,
        () if resolve(text) == Scalar::Text && !sexagesimal(text) => ScalarStyle::Plain,
        () => ScalarStyle::DoubleQuoted,
    };
    emitter.emit(Event::scalar(None, None, text, true, true, style))
}

/// Returns whether a text such as `1:30` is a number to the base 60 for some readers.
fn sexagesimal(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = text.split(':');
    let digits =
        |part: &str| !part.is_empty() && part.chars().all(|digit| digit.is_ascii_digit() || digit == '_');
    let first =
        parts.next().is_some_and(|part| digits(part) && part.starts_with(|c: char| c.is_ascii_digit()));
    let rest: Vec<&str> = parts.collect();
    let sixtieth = |part: &&str| {
        let part = part.split_once('.').map_or(*part, |(whole, _)| whole);
        digits(part) && part.len() <= 2 && (part.len() < 2 || part < "60")
    };
    first && !rest.is_empty() && rest.iter().all(sixtieth)
}

/// Formats a number as it is after a conversion to JSON: whole numbers have no point, very large and very small ones have an exponent.
fn shown(number: &serde_json::Number) -> String {
    const EXACT: u64 = 1 << 53;
    if let Some(whole) = number.as_i64().filter(|whole| whole.unsigned_abs() <= EXACT) {
        return whole.to_string();
    }
    let value = number.as_f64().unwrap_or_default();
    let size = value.abs();
    if value == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

/// Compares two keys: letters come after other characters, and numbers are compared by value.
fn key_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (false, false) => {}
        (letter, _) => return if letter { Ordering::Greater } else { Ordering::Less },
    }
    // After equal digits, a zero is a digit of the same number.
    let continues = (a[at] == '0' || b[at] == '0')
        && a[..at].iter().rev().take_while(|c| c.is_numeric()).any(|digit| *digit != '0');
    let number = |text: &[char]| {
        let digits = text[at..].iter().take_while(|c| c.is_ascii_digit());
        let start = (i64::from(continues), at);
        digits.fold(start, |(value, end), digit| {
            let digit = i64::from(digit.to_digit(10).unwrap_or_default());
            (value.wrapping_mul(10).wrapping_add(digit), end + 1)
        })
    };
    number(&a).cmp(&number(&b)).then(a[at].cmp(&b[at]))
}
