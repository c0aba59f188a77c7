//! Floats as Go's `strconv.FormatFloat` writes them.

/// A float in one of Go's formats: `e`, `f` or `g`, or their capitals. Without a precision it has as many digits as are necessary.
pub(crate) fn format(value: f64, verb: char, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = match verb.to_ascii_lowercase() {
        'e' => scientific(value, precision),
        'x' => hexadecimal(value, precision),
        'b' => binary(value),
        'f' => match precision {
            Some(precision) => format!("{value:.precision$}"),
            None => format!("{value}"),
        },
        _ => general(value, precision),
    };
    if verb.is_ascii_uppercase() { text.to_ascii_uppercase() } else { text }
}

/// A float as `encoding/json` writes it.
pub(crate) fn json(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return format(value, 'f', None);
    }
    let text = format(value, 'e', None);
    match text.strip_suffix(|c: char| c.is_ascii_digit()).and_then(|head| head.strip_suffix("e-0")) {
        Some(head) => format!("{head}e-{}", &text[text.len() - 1..]),
        None => text,
    }
}

/// Digits, an `e`, and an exponent with a sign and at least two digits.
fn scientific(value: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{value:.precision$e}"),
        None => format!("{value:e}"),
    };
    let (mantissa, exponent) = split(&text);
    join(mantissa, exponent)
}

fn split(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or_default())
}

fn join(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `%g`: the exponent decides between the two other formats.
fn general(value: f64, precision: Option<usize>) -> String {
    let precision = precision.map(|precision| precision.max(1));
    let text = match precision {
        Some(precision) => {
            let after_point = precision - 1;
            format!("{value:.after_point$e}")
        }
        None => format!("{value:e}"),
    };
    let (mantissa, exponent) = split(&text);
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    let digits = mantissa.chars().filter(char::is_ascii_digit).count();
    let threshold = match precision {
        None => 6,
        Some(precision) if precision > digits && digits as i32 > exponent => digits as i32,
        Some(precision) => precision as i32,
    };
    if exponent < -4 || exponent >= threshold {
        return join(mantissa, exponent);
    }
    let after_point = usize::try_from(digits as i32 - 1 - exponent).unwrap_or_default();
    match precision {
        None => format!("{value}"),
        Some(_) => format!("{value:.after_point$}"),
    }
}

/// A float with the point and the zeros that the flag `#` wants: as many digits as the precision says, or 6.
pub(crate) fn with_zeros(text: &str, verb: char, precision: Option<usize>) -> String {
    let counts = matches!(verb, 'g' | 'G' | 'x');
    let mut missing = if counts { precision.unwrap_or(6) } else { 0 };
    let hexadecimal = matches!(verb, 'x' | 'X');
    let is_end = |c: char| matches!(c, 'p' | 'P') || (!hexadecimal && matches!(c, 'e' | 'E'));
    let (mut digits, tail) = text.find(is_end).map_or((text, ""), |end| text.split_at(end));
    let sign = if digits.starts_with('-') { "-" } else { "" };
    digits = &digits[sign.len()..];
    let mut significant = false;
    for c in digits.chars().filter(|c| *c != '.') {
        significant |= c != '0';
        missing = missing.saturating_sub(usize::from(significant));
    }
    let mut output = format!("{sign}{digits}");
    if !digits.contains('.') {
        missing = missing.saturating_sub(usize::from(digits == "0"));
        output.push('.');
    }
    output.push_str(&"0".repeat(missing));
    output + tail
}

/// The bits of a float: the sign, a mantissa below 2^53, and the exponent of its last bit.
fn parts(value: f64) -> (&'static str, u64, i32) {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    match exponent {
        0 => (sign, fraction, -1074),
        exponent => (sign, fraction | 1 << 52, exponent - 1075),
    }
}

/// `%x`: one bit, a point, and hexadecimal digits.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (sign, mantissa, exponent) = parts(value);
    if mantissa == 0 {
        let zeros = precision.filter(|digits| *digits > 0).map(|digits| format!(".{}", "0".repeat(digits)));
        return format!("{sign}0x0{}p+00", zeros.unwrap_or_default());
    }
    let shift = mantissa.leading_zeros() - 3;
    // The first bit is bit 60, so that 15 digits follow.
    let (mut mantissa, mut exponent) = (mantissa << shift, exponent - shift as i32 + 60);
    if let Some(digits) = precision.filter(|digits| *digits < 15) {
        let unit = 1u64 << (60 - digits * 4);
        let (rest, odd) = (mantissa % unit, mantissa / unit % 2);
        mantissa -= rest;
        if rest + odd > unit / 2 {
            mantissa += unit;
        }
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    match precision {
        Some(precision) => digits = digits.chars().chain(std::iter::repeat('0')).take(precision).collect(),
        None => digits.truncate(digits.trim_end_matches('0').len()),
    }
    let point = if digits.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{sign}0x1{point}{digits}p{direction}{:02}", exponent.abs())
}

/// `%b`: the mantissa as an integer, and the exponent of two.
fn binary(value: f64) -> String {
    let (sign, mantissa, exponent) = parts(value);
    format!("{sign}{mantissa}p{exponent:+}")
}
