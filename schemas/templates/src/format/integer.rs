//! Integers with the verbs of `fmt`.

use super::Flags;

/// An integer with a verb, without its padding to the width but with leading zeros. `None` if the verb is not for integers.
pub(super) fn format(value: i128, verb: char, flags: &Flags) -> Option<String> {
    let magnitude = value.unsigned_abs();
    let (digits, prefix) = match verb {
        'v' | 'd' => (magnitude.to_string(), ""),
        'b' => (format!("{magnitude:b}"), if flags.sharp { "0b" } else { "" }),
        'o' => (format!("{magnitude:o}"), if flags.sharp { "0" } else { "" }),
        'O' => (format!("{magnitude:o}"), "0o"),
        'x' => (format!("{magnitude:x}"), if flags.sharp { "0x" } else { "" }),
        'X' => (format!("{magnitude:X}"), if flags.sharp { "0X" } else { "" }),
        _ => return None,
    };
    let sign = match value {
        value if value < 0 => "-",
        _ if flags.plus => "+",
        _ if flags.space => " ",
        _ => "",
    };
    let zeros = match (flags.precision, flags.width) {
        (Some(0), _) if value == 0 => return Some(String::new()),
        (Some(precision), _) => precision.saturating_sub(digits.len()),
        (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(digits.len() + sign.len()),
        _ => 0,
    };
    let prefix = if prefix == "0" && (zeros > 0 || digits.starts_with('0')) { "" } else { prefix };
    Some(format!("{sign}{prefix}{}{digits}", "0".repeat(zeros)))
}

/// `%U`: the code point, and with `#` the character.
pub(super) fn code_point(value: u64, flags: &Flags) -> String {
    let precision = flags.precision.unwrap_or_default().max(4);
    let text = format!("U+{value:0precision$X}");
    let c = u32::try_from(value).ok().and_then(char::from_u32);
    match c.filter(|c| flags.sharp && super::quote::is_printable(*c)) {
        Some(c) => format!("{text} '{c}'"),
        None => text,
    }
}
