//! Literals of numbers, with Go's rules for constants: `1e3` is a float that can also be used as an integer.

/// A literal with each of the types that it can have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Number {
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    /// Whether it is a float where nothing else is wanted.
    pub(crate) prefers_float: bool,
}

/// The number of bytes of the literal at the beginning of `text`. It may be no number in the end.
pub(crate) fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut end = 0;
    let accept = |end: &mut usize, set: &[u8]| {
        let found = bytes.get(*end).is_some_and(|byte| set.contains(byte));
        *end += usize::from(found);
        found
    };
    accept(&mut end, b"+-");
    let (mut digits, mut exponent): (&[u8], &[u8]) = (b"0123456789_", b"eE");
    if accept(&mut end, b"0") {
        if accept(&mut end, b"xX") {
            (digits, exponent) = (b"0123456789abcdefABCDEF_", b"pP");
        } else if accept(&mut end, b"oO") {
            (digits, exponent) = (b"01234567_", b"");
        } else if accept(&mut end, b"bB") {
            (digits, exponent) = (b"01_", b"");
        }
    }
    while accept(&mut end, digits) {}
    if accept(&mut end, b".") {
        while accept(&mut end, digits) {}
    }
    if accept(&mut end, exponent) {
        accept(&mut end, b"+-");
        while accept(&mut end, b"0123456789_") {}
    }
    end
}

/// A character such as `'a'`, which is its code point.
pub(crate) fn character(code: u32) -> Number {
    Number {
        int: Some(i64::from(code)),
        uint: Some(u64::from(code)),
        float: Some(f64::from(code)),
        prefers_float: false,
    }
}

/// The number that a literal is.
pub(crate) fn number(text: &str) -> Option<Number> {
    let int = parse_int(text);
    let uint = if int == Some(0) { Some(0) } else { parse_uint(text) };
    let looks_float = text.contains(['.', 'e', 'E', 'p', 'P']);
    let is_hexadecimal =
        text.len() > 2 && (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']);
    let mut number = Number { int, uint, float: None, prefers_float: looks_float && !is_hexadecimal };
    if let Some(int) = int {
        number.float = Some(int as f64);
    } else if let Some(uint) = uint {
        number.float = Some(uint as f64);
    } else {
        let float = parse_float(text).filter(|_| looks_float)?;
        number.float = Some(float);
        number.int = (float as i64 as f64 == float && float.abs() < 9.3e18).then_some(float as i64);
        number.uint = (float >= 0.0 && float as u64 as f64 == float).then_some(float as u64);
    }
    Some(number)
}

/// An integer as `strconv.ParseInt` reads it with base 0: with a sign, a prefix for the base, and underscores between digits.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    let value = i128::from(parse_uint(digits)?);
    i64::try_from(if negative { -value } else { value }).ok()
}

/// An integer as `strconv.ParseUint` reads it with base 0, without a sign.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let has_prefix = digits.len() < lower.len();
    if !underscores_separate(digits, has_prefix) {
        return None;
    }
    let digits = digits.replace('_', "");
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| u64::from_str_radix(&digits, base).ok()).flatten()
}

fn underscores_separate(digits: &str, has_prefix: bool) -> bool {
    let bytes = digits.as_bytes();
    let first = bytes.first() != Some(&b'_') || has_prefix;
    first && bytes.last() != Some(&b'_') && !digits.contains("__")
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// A float as `strconv.ParseFloat` reads it: decimal or hexadecimal, infinite or not a number. One that is too large is none.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let (negative, digits) = sign(text);
    let magnitude = match digits.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" if digits.len() == text.len() => f64::NAN,
        lower if lower.starts_with("0x") => hexadecimal(&lower[2..])?,
        lower => {
            let plain = lower.bytes().all(|byte| byte.is_ascii_digit() || b"._e+-".contains(&byte));
            let separated = lower.split(['.', 'e', '+', '-']).all(|part| underscores_separate(part, false));
            let digits = lower.replace('_', "");
            let value: f64 = (plain && separated).then(|| digits.parse().ok()).flatten()?;
            value.is_finite().then_some(value)?
        }
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// `1.8p3`, whose exponent is required.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let mut exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0.0;
    let mut any = false;
    for digit in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
        any = true;
    }
    exponent = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    let value = value * f64::powi(2.0, exponent);
    (any && value.is_finite()).then_some(value)
}
