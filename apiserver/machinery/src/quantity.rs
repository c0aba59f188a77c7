//! The canonical form of quantities, in which built-in kinds store them: `1000m` is `1`, `0.5` is `500m`, `1024Ki` is
//! `1Mi`.

/// The message of Go's decoder for a text that is not a quantity.
pub const SHAPE: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Larger than the number of digits that a value can have.
const DIGITS: i32 = 40;

/// The kind of suffix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The suffixes for powers of 1000, from 10^-9 on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Returns the canonical form of a quantity.
///
/// # Errors
/// [`SHAPE`] for a text that is not a quantity.
pub fn canonical(text: &str) -> Result<String, &'static str> {
    let (digits, suffix) = split(text)?;
    let (format, power) = suffix_of(suffix)?;
    let Some((value, exponent)) = number(digits, format, power) else {
        // The value is out of the range of this calculation, so the text stays as written.
        return Ok(text.to_owned());
    };
    if value == 0 {
        return Ok("0".to_owned());
    }
    let binary = (format == Format::Binary).then(|| whole(value, exponent)).flatten();
    if let Some(whole) = binary.filter(|whole| whole.abs() >= 1024) {
        let mut rest = whole;
        let mut power = 0;
        while rest % 1024 == 0 && power + 1 < BINARY.len() {
            rest /= 1024;
            power += 1;
        }
        return Ok(format!("{rest}{}", BINARY[power]));
    }
    Ok(decimal(value, exponent, format).unwrap_or_else(|| text.to_owned()))
}

/// Returns the value in units of 10^-9. Returns `None` if the text is not a quantity, or the value is out of range.
pub fn nanos(text: &str) -> Option<i128> {
    let (digits, suffix) = split(text).ok()?;
    let (format, power) = suffix_of(suffix).ok()?;
    let (value, exponent) = number(digits, format, power)?;
    let value = value.checked_mul(10i128.checked_pow(u32::try_from(exponent.checked_add(9)?).ok()?)?)?;
    Some(if text.starts_with('-') { -value.abs() } else { value })
}

fn split(text: &str) -> Result<(&str, &str), &'static str> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(unsigned.len());
    let at = text.len() - unsigned.len() + end;
    let (digits, suffix) = text.split_at(at);
    let number = &unsigned[..end];
    let plausible = number.bytes().any(|byte| byte.is_ascii_digit()) && number.matches('.').count() <= 1;
    if plausible { Ok((digits, suffix)) } else { Err(SHAPE) }
}

/// Returns the format of a suffix and its power of 1024 or 10.
fn suffix_of(suffix: &str) -> Result<(Format, i32), &'static str> {
    let place = |list: &[&str]| list.iter().position(|known| *known == suffix);
    if let Some(at) = place(&DECIMAL) {
        return Ok((Format::Decimal, 3 * i32::try_from(at).map_err(|_| SHAPE)? - 9));
    }
    if let Some(at) = place(&BINARY) {
        return Ok((Format::Binary, i32::try_from(at).map_err(|_| SHAPE)?));
    }
    let digits = suffix.strip_prefix(['e', 'E']).ok_or(SHAPE)?;
    Ok((Format::Exponent, digits.parse().map_err(|_| SHAPE)?))
}

/// Returns the number as a value and an exponent of 10, rounded to units of 10^-9.
fn number(digits: &str, format: Format, power: i32) -> Option<(i128, i32)> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent = -i32::try_from(fraction.len()).ok()?;
    match format {
        Format::Binary => {
            for _ in 0..power {
                value = value.checked_mul(1024)?;
            }
        }
        _ => exponent = exponent.checked_add(power)?,
    }
    // Digits beyond this precision only affect the rounding.
    exponent = exponent.max(-9 - DIGITS);
    while exponent < -9 {
        // Values are rounded away from zero.
        let up = if value % 10 == 0 { 0 } else { value.signum() };
        value = value / 10 + up;
        exponent += 1;
    }
    Some((value, exponent))
}

fn whole(value: i128, exponent: i32) -> Option<i128> {
    let scale = 10i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        return value.checked_mul(scale);
    }
    (value % scale == 0).then(|| value / scale)
}

/// Returns the shortest number in front of a power of 1000.
fn decimal(mut value: i128, mut exponent: i32, format: Format) -> Option<String> {
    while value % 10 == 0 {
        value /= 10;
        exponent += 1;
    }
    while exponent.rem_euclid(3) != 0 {
        value = value.checked_mul(10)?;
        exponent -= 1;
    }
    if format == Format::Exponent {
        return Some(if exponent == 0 { value.to_string() } else { format!("{value}e{exponent}") });
    }
    let suffix = DECIMAL.get(usize::try_from(exponent / 3 + 3).ok()?)?;
    Some(format!("{value}{suffix}"))
}
