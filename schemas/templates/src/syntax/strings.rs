//! Literals of strings and characters, as Go's `strconv.Unquote` reads them.

/// The bytes of a quoted string, without its quotes. `None` if an escape is wrong.
pub(crate) fn quoted(inner: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (unit, after) = unit(rest, '"')?;
        match unit {
            Unit::Byte(byte) => bytes.push(byte),
            Unit::Character(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = after;
    }
    Some(bytes)
}

/// The code point of a character's literal, without its quotes.
pub(crate) fn character(inner: &str) -> Option<u32> {
    let (unit, after) = unit(inner, '\'')?;
    let code = match unit {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Character(c) => u32::from(c),
    };
    after.is_empty().then_some(code)
}

enum Unit {
    Byte(u8),
    Character(char),
}

fn unit(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first != '\\' {
        return (first != '\n' && first != quote).then_some((Unit::Character(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let simple = |c: char| Some((Unit::Character(c), rest));
    match escape {
        'a' => simple('\x07'),
        'b' => simple('\x08'),
        'f' => simple('\x0c'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\x0b'),
        '\\' => simple('\\'),
        c if c == quote => simple(c),
        'x' => {
            let (code, rest) = code(rest, 2, 16)?;
            Some((Unit::Byte(u8::try_from(code).ok()?), rest))
        }
        'u' | 'U' => {
            let (code, rest) = code(rest, if escape == 'u' { 4 } else { 8 }, 16)?;
            Some((Unit::Character(char::from_u32(code)?), rest))
        }
        '0'..='7' => {
            let (code, rest) = code(&text[1..], 3, 8)?;
            Some((Unit::Byte(u8::try_from(code).ok()?), rest))
        }
        _ => None,
    }
}

fn code(text: &str, digits: usize, base: u32) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let plain = number.chars().all(|c| c.is_digit(base));
    Some((plain.then(|| u32::from_str_radix(number, base).ok()).flatten()?, rest))
}
