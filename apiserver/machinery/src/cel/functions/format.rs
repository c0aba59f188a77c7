//! `'%s %d'.format([a, b])`.

use super::show;
use crate::cel::eval::CANCELLED;
use crate::cel::value::{Failure, Outcome, Val};
use crate::limits::MAX_CEL_TEXT;

/// Fills the clauses of `template` with the items of `list`.
pub(super) fn format<'a>(template: &str, list: &Val<'a>) -> Outcome<'a> {
    let items = list.items().ok_or(Failure::Borrowed("no such overload"))?;
    let mut items = items.iter();
    let mut used = 0;
    let mut out = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut precision = None;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut digits = String::new();
            while let Some(digit) = chars.peek().filter(|c| c.is_ascii_digit()) {
                digits.push(*digit);
                chars.next();
            }
            precision = Some(
                digits
                    .parse::<usize>()
                    .map_err(|_| "could not parse formatting clause: error while parsing precision")?,
            );
        }
        let Some(verb) = chars.next() else {
            return Err("could not parse formatting clause: unexpected end of string".into());
        };
        let Some(value) = items.next() else {
            return Err(format!("index {used} out of range").into());
        };
        used += 1;
        out.push_str(&clause(verb, precision.unwrap_or(6).min(100), value)?);
        if out.len() > MAX_CEL_TEXT {
            return Err(CANCELLED);
        }
    }
    Ok(Val::text(out))
}

fn clause(verb: char, precision: usize, value: &Val<'_>) -> Result<String, Failure> {
    let wrong = || -> Result<String, Failure> {
        let clause = match verb {
            'd' => "decimal clause can only be used on integers",
            'f' => "fixed-point clause can only be used on doubles",
            'e' => "scientific clause can only be used on doubles",
            'b' => "only integers and bools can be formatted as binary",
            'o' => "octal clause can only be used on integers",
            _ => "only integers, byte buffers, and strings can be formatted as hex",
        };
        Err(format!("error during formatting: {clause}, was given {}", value.type_name()).into())
    };
    let float = match value {
        Val::Double(n) => Some(*n),
        Val::Int(n) => Some(*n as f64),
        Val::Uint(n) => Some(*n as f64),
        _ => None,
    };
    match (verb, value) {
        ('s', value) => Ok(show(value)),
        ('d', Val::Int(n)) => Ok(n.to_string()),
        ('d', Val::Uint(n)) => Ok(n.to_string()),
        ('d', Val::Double(n)) if n.is_finite() => Ok(format!("{n}")),
        ('f', _) => float.map_or_else(wrong, |n| Ok(format!("{n:.precision$}"))),
        ('e', _) => float.map_or_else(wrong, |n| {
            let text = format!("{n:.precision$e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            Ok(format!("{digits}e{sign}{:02}", exponent.abs()))
        }),
        ('b', Val::Bool(flag)) => Ok(u8::from(*flag).to_string()),
        ('b' | 'o' | 'x' | 'X', Val::Int(n)) => {
            let sign = if *n < 0 { "-" } else { "" };
            Ok(format!("{sign}{}", radix(verb, n.unsigned_abs())))
        }
        ('b' | 'o' | 'x' | 'X', Val::Uint(n)) => Ok(radix(verb, *n)),
        ('x' | 'X', Val::Text(text)) => Ok(hex(verb, text.as_bytes())),
        ('x' | 'X', Val::Bytes(bytes)) => Ok(hex(verb, bytes)),
        ('d' | 'b' | 'o' | 'x' | 'X', _) => wrong(),
        _ => {
            Err(format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
                .into())
        }
    }
}

fn radix(verb: char, n: u64) -> String {
    match verb {
        'b' => format!("{n:b}"),
        'o' => format!("{n:o}"),
        'x' => format!("{n:x}"),
        _ => format!("{n:X}"),
    }
}

fn hex(verb: char, bytes: &[u8]) -> String {
    let lower: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if verb == 'X' { lower.to_uppercase() } else { lower }
}
