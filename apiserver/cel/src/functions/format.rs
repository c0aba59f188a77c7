//! The function `format`, for example `'%s %d'.format([a, b])`.

use machinery::field::quote;

use super::show::show;
use super::template::{Clause, Refused, TEXTS, fill};
use crate::limits::MAX_CEL_TEXT;
use crate::values::{CANCELLED, Outcome, Val, work};

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
        Val::Text(text) if nested => quote(text),
        Val::Bytes(bytes) if nested => {
            format!("b{}", quote(&String::from_utf8_lossy(bytes)))
        }
        Val::Double(n) if nested && n.is_finite() => format!("{n:.6}"),
        Val::Double(n) if nested => quote(&show(&Val::Double(*n))),
        Val::Duration(_) if nested => format!("duration({})", quote(&show(value))),
        Val::Timestamp(_) if nested => format!("timestamp({})", quote(&show(value))),
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
