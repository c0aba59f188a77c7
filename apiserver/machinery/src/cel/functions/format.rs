//! The function `format`, for example `'%s %d'.format([a, b])`.

use super::show;
use crate::cel::eval::CANCELLED;
use crate::cel::types::Type;
use crate::cel::value::{Outcome, Val};
use crate::cel::work;
use crate::limits::MAX_CEL_TEXT;

/// One formatting clause of a template, for example `%.2f`.
#[derive(Debug, Clone, Copy)]
pub struct Clause {
    verb: u8,
    precision: Option<usize>,
}

/// The types that a clause formats, and the error for other types.
struct Verb {
    /// The supported types by their runtime names. `%s` supports all of them and formats lists and maps recursively.
    takes: &'static [&'static str],
    refusal: &'static str,
}

const NUMBERS: [&str; 2] = ["int", "uint"];
const TEXTS: [&str; 12] = [
    "list",
    "map",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "google.protobuf.Timestamp",
    "bytes",
    "google.protobuf.Duration",
    "type",
    "null_type",
];

impl Clause {
    fn rules(self) -> Verb {
        let (takes, refusal): (&'static [&'static str], _) = match self.verb {
            b'd' => (&NUMBERS, "decimal clause can only be used on integers"),
            b'f' => (&["double", "string"], "fixed-point clause can only be used on doubles"),
            b'e' => (&["double", "string"], "scientific clause can only be used on doubles"),
            b'b' => (&["int", "uint", "bool"], "only integers and bools can be formatted as binary"),
            b'o' => (&NUMBERS, "octal clause can only be used on integers"),
            b'x' | b'X' => (
                &["int", "uint", "string", "bytes"],
                "only integers, byte buffers, and strings can be formatted as hex",
            ),
            _ => (
                &TEXTS,
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps",
            ),
        };
        Verb { takes, refusal }
    }

    /// Returns the error for a value whose runtime type has that name.
    fn refuse(self, type_name: &str) -> String {
        format!("error during formatting: {}, was given {type_name}", self.rules().refusal)
    }

    /// Returns an error if the clause can never format a value of the type.
    pub(crate) fn check(self, found: &Type<'_>) -> Option<String> {
        let name = match found {
            Type::Dyn | Type::Error | Type::Param(_) => return None,
            Type::List(_) => "list",
            Type::Map(..) => "map",
            Type::Kind(_) => "type",
            Type::Optional(_) => "optional_type",
            Type::Object(..) | Type::Metadata => "object",
            Type::Simple(name) => name,
        };
        (!self.rules().takes.contains(&name)).then(|| self.refuse(name))
    }

    /// Returns whether the clause formats the items of lists and the entries of maps, too.
    pub(crate) fn looks_inside(self) -> bool {
        self.verb == b's'
    }
}

/// The reason why a template cannot be filled: an error for a value, or an error in the template.
pub(crate) enum Refused<E> {
    Value(E),
    Template(String),
}

/// Fills the clauses of `template` with the texts that `write` returns for `count` values. Returns the text and the
/// number of values used.
///
/// `checked` is set at type checking, when cel-go reports a truncated clause before a missing value.
pub(crate) fn fill<E>(
    template: &str,
    count: usize,
    checked: bool,
    mut write: impl FnMut(Clause, usize) -> Result<String, E>,
) -> Result<(String, usize), Refused<E>> {
    let bytes = template.as_bytes();
    let (mut out, mut at, mut used) = (Vec::with_capacity(bytes.len()), 0, 0);
    while let Some(byte) = bytes.get(at) {
        if *byte != b'%' || bytes.get(at + 1) == Some(&b'%') {
            out.push(*byte);
            at += if *byte == b'%' { 2 } else { 1 };
            continue;
        }
        let missing = || Refused::Template(format!("index {used} out of range"));
        if used >= count && !checked {
            return Err(missing());
        }
        if at + 1 >= bytes.len() {
            return Err(Refused::Template("unexpected end of string".to_owned()));
        }
        if used >= count {
            return Err(missing());
        }
        let (read, clause) = parse(&bytes[at + 1..])
            .map_err(|why| Refused::Template(format!("could not parse formatting clause: {why}")))?;
        out.extend(write(clause, used).map_err(Refused::Value)?.into_bytes());
        at += 1 + read;
        used += 1;
        if out.len() > MAX_CEL_TEXT {
            return Err(Refused::Template(CANCELLED.into_owned()));
        }
    }
    Ok((String::from_utf8_lossy(&out).into_owned(), used))
}

/// Parses the clause after a percent sign and returns its length and the clause.
fn parse(rest: &[u8]) -> Result<(usize, Clause), String> {
    let (mut at, mut precision) = (0, None);
    if rest.first() == Some(&b'.') {
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = 1 + digits;
        let text = String::from_utf8_lossy(&rest[1..at]).into_owned();
        if at >= rest.len() {
            return Err("error while parsing precision: could not find end of precision specifier".to_owned());
        }
        let why = if digits == 0 { "invalid syntax" } else { "value out of range" };
        precision = Some(text.parse().map_err(|_| {
            format!(
                "error while parsing precision: error while converting precision to integer: \
                 strconv.Atoi: parsing \"{text}\": {why}"
            )
        })?);
    }
    let verb = rest[at];
    if !b"sdfebxXo".contains(&verb) {
        return Err(format!("unrecognized formatting clause \"{}\"", char::from(verb)));
    }
    Ok((at + 1, Clause { verb, precision }))
}

pub(super) fn format<'a>(template: &str, list: &[Val<'a>]) -> Outcome<'a> {
    match fill(template, list.len(), false, |clause, at| write(clause, &list[at])) {
        Ok((text, _)) => Ok(Val::text(text)),
        Err(Refused::Value(why) | Refused::Template(why)) => Err(why.into()),
    }
}

/// Maximum number of digits after the decimal point.
const MAX_PRECISION: usize = 1000;

fn write(clause: Clause, value: &Val<'_>) -> Result<String, String> {
    let refused = || Err(clause.refuse(value.type_name()));
    let digits = clause.precision.unwrap_or(6).min(MAX_PRECISION);
    Ok(match (clause.verb, value) {
        (b's', value) => text(value).map_err(|why| match why {
            Unwritten::Type(name) => clause.refuse(name),
            Unwritten::TooLong => CANCELLED.into_owned(),
            Unwritten::Inside(why) => format!("error during formatting: no formatting function for {why}"),
        })?,
        (b'd', Val::Int(n)) => n.to_string(),
        (b'd', Val::Uint(n)) => n.to_string(),
        (b'f' | b'e', value) => match (clause.verb, float(value)) {
            (_, None) => return refused(),
            (_, Some(n)) if !n.is_finite() => not_finite(n).to_owned(),
            (b'f', Some(n)) => grouped(&format!("{n:.digits$}")),
            (_, Some(n)) => scientific(n),
        },
        (b'b', Val::Bool(flag)) => u8::from(*flag).to_string(),
        (b'b' | b'o' | b'x' | b'X', Val::Int(n)) => {
            let sign = if *n < 0 { "-" } else { "" };
            format!("{sign}{}", radix(clause.verb, n.unsigned_abs()))
        }
        (b'b' | b'o' | b'x' | b'X', Val::Uint(n)) => radix(clause.verb, *n),
        (b'x' | b'X', Val::Text(text)) => hex(clause.verb, text.as_bytes()),
        (b'x' | b'X', Val::Bytes(bytes)) => hex(clause.verb, bytes),
        _ => return refused(),
    })
}

/// Returns the number of a double, or of a string that stands for a number that is not finite.
fn float(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(n) => Some(*n),
        Val::Text(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn not_finite(n: f64) -> &'static str {
    if n.is_nan() {
        "NaN"
    } else if n > 0.0 {
        "∞"
    } else {
        "-∞"
    }
}

/// Separates thousands by commas.
fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Always writes six digits, because cel-go ignores the precision of this clause.
fn scientific(n: f64) -> String {
    let text = format!("{n:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let raised = |c: char| match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        other => char::from_u32('⁰' as u32 + other.to_digit(10).unwrap_or(0)).unwrap_or('⁰'),
    };
    let sign = if exponent < 0 { "⁻" } else { "" };
    let exponent: String = format!("{:02}", exponent.abs()).chars().map(raised).collect();
    format!("{digits}×10{sign}{exponent}")
}

/// The reasons why `%s` cannot format a value.
enum Unwritten {
    /// The value has this type.
    Type(&'static str),
    /// A list or map contains a value of an unsupported type, which the text describes.
    Inside(String),
    /// The text is longer than [`MAX_CEL_TEXT`].
    TooLong,
}

/// Formats a value for `%s`.
fn text(value: &Val<'_>) -> Result<String, Unwritten> {
    let mut out = String::new();
    add_text(&mut out, value, false)?;
    Ok(out)
}

/// Appends a value. Inside a list or map (`nested`), strings are quoted as in CEL. A small expression can build a value
/// with an enormous text, so each step checks the length.
fn add_text(out: &mut String, value: &Val<'_>, nested: bool) -> Result<(), Unwritten> {
    if out.len() > MAX_CEL_TEXT || work::is_exceeded() {
        return Err(Unwritten::TooLong);
    }
    match value {
        Val::List(_) | Val::Array(..) => {
            out.push('[');
            for (at, item) in value.items().unwrap_or_default().iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                add_text(out, item, true)?;
            }
            out.push(']');
        }
        Val::Map(_) | Val::Object(..) => {
            let mut entries = Vec::new();
            for (key, value) in value.entries().unwrap_or_default() {
                if !matches!(key, Val::Text(_) | Val::Bool(_) | Val::Int(_) | Val::Uint(_)) {
                    let kind = key.type_name();
                    return Err(Unwritten::Inside(format!("map key of type {kind}")));
                }
                entries.push((scalar(&key, true)?, value));
            }
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(key);
                out.push(':');
                add_text(out, value, true)?;
            }
            out.push('}');
        }
        scalar_value => out.push_str(&scalar(scalar_value, nested)?),
    }
    Ok(())
}

fn scalar(value: &Val<'_>, nested: bool) -> Result<String, Unwritten> {
    Ok(match value {
        Val::Text(text) if nested => crate::field::quote(text),
        Val::Bytes(bytes) if nested => {
            format!("b{}", crate::field::quote(&String::from_utf8_lossy(bytes)))
        }
        Val::Double(n) if nested && n.is_finite() => format!("{n:.6}"),
        Val::Double(n) if nested => crate::field::quote(&show(&Val::Double(*n))),
        Val::Duration(_) if nested => format!("duration({})", crate::field::quote(&show(value))),
        Val::Timestamp(_) if nested => format!("timestamp({})", crate::field::quote(&show(value))),
        other if TEXTS.contains(&other.type_name()) => show(other),
        other if nested => return Err(Unwritten::Inside(other.type_name().to_owned())),
        other => return Err(Unwritten::Type(other.type_name())),
    })
}

fn radix(verb: u8, n: u64) -> String {
    match verb {
        b'b' => format!("{n:b}"),
        b'o' => format!("{n:o}"),
        b'x' => format!("{n:x}"),
        _ => format!("{n:X}"),
    }
}

fn hex(verb: u8, bytes: &[u8]) -> String {
    let lower: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if verb == b'X' { lower.to_uppercase() } else { lower }
}
