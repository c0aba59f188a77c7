//! Quantities, for example `1Gi`, `100m` or `1e3`, and their canonical form, in which built-in kinds store them: `1000m`
//! is `1`, `0.5` is `500m`, `1024Ki` is `1Mi`.
//!
//! Source: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`, which has no limit of digits and powers.

use std::cmp::Ordering;
use std::fmt;

/// The message of Go's decoder for a text that is not a quantity.
pub const SHAPE: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Larger than the number of digits that a value can have.
const DIGITS: i32 = 40;

/// The largest power of 10. With it every quantity is in the range of a float.
const MAX_POWER: i32 = 256;

/// Why a text cannot be used as a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is not a quantity.
    #[error("{SHAPE}")]
    Shape,
    /// It is a quantity with more than 38 digits, or with a power above 256.
    #[error("the quantity is out of range")]
    Range,
}

/// The kind of suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The suffixes for powers of 1000, from 10^-9 on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// An exact quantity, which is `value` times 10 to the power of `exponent`, rounded away from zero to units of 10^-9.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    value: i128,
    exponent: i32,
    format: Format,
    /// Whether the number was a fraction of a binary unit. Such a number is never an integer, even if its value is
    /// whole.
    is_binary_fraction: bool,
}

impl Quantity {
    /// Parses a quantity. Missing digits are zero, as upstream: `.` and `Ki` are 0.
    ///
    /// # Errors
    /// The text is not a quantity, or is out of range.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Err(Refusal::Shape);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(unsigned.len());
        let (digits, suffix) = unsigned.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if fraction.contains('.') {
            return Err(Refusal::Shape);
        }
        let (format, power) = suffix_of(suffix)?;
        let is_binary_fraction = format == Format::Binary && !fraction.is_empty();
        let (value, exponent) = number(whole, fraction, format, power).ok_or(Refusal::Range)?;
        let value = if text.starts_with('-') { -value } else { value };
        Ok(Self { value, exponent, format, is_binary_fraction })
    }

    /// Returns the quantity of a whole number.
    pub fn from_int(value: i64) -> Self {
        Self { value: value.into(), exponent: 0, format: Format::Exponent, is_binary_fraction: false }
    }

    fn aligned(&self, other: &Self) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scale = |quantity: &Self| {
            let by = u32::try_from(i64::from(quantity.exponent) - i64::from(exponent)).ok()?;
            quantity.value.checked_mul(10i128.checked_pow(by)?)
        };
        Some((scale(self)?, scale(other)?, exponent))
    }

    /// Compares two quantities, as floats if they cannot be compared exactly.
    pub fn compare(&self, other: &Self) -> Ordering {
        match self.aligned(other) {
            Some((a, b, _)) => a.cmp(&b),
            None => self.as_float().partial_cmp(&other.as_float()).unwrap_or(Ordering::Equal),
        }
    }

    /// Returns the sum, or `None` if it is out of range. It has the suffix of the first of the two that is not zero.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let (a, b, exponent) = self.aligned(other)?;
        let is_binary_fraction = self.is_binary_fraction || other.is_binary_fraction;
        let format = if self.value == 0 { other.format } else { self.format };
        Some(Self { value: a.checked_add(b)?, exponent, format, is_binary_fraction })
    }

    /// Returns the difference, or `None` if it is out of range.
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&Self { value: other.value.checked_neg()?, ..*other })
    }

    /// Returns -1, 0 or 1.
    pub fn sign(&self) -> i64 {
        self.value.signum() as i64
    }

    /// Returns the integer value, or `None` if the quantity is not an integer in range.
    pub fn as_int(&self) -> Option<i64> {
        let value = whole(self.value, self.exponent).filter(|_| !self.is_binary_fraction)?;
        i64::try_from(value).ok()
    }

    /// Returns the nearest float.
    pub fn as_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Returns the value in units of 10^-9, or `None` if it is out of range.
    pub fn nanos(&self) -> Option<i128> {
        let by = u32::try_from(self.exponent.checked_add(9)?).ok()?;
        self.value.checked_mul(10i128.checked_pow(by)?)
    }

    /// Returns the canonical form, or `None` if no suffix can express it.
    fn canonical(&self) -> Option<String> {
        if self.value == 0 {
            return Some("0".to_owned());
        }
        let binary = (self.format == Format::Binary).then(|| whole(self.value, self.exponent)).flatten();
        let Some(mut rest) = binary.filter(|whole| whole.abs() >= 1024) else {
            return decimal(self.value, self.exponent, self.format);
        };
        let mut power = 0;
        while rest % 1024 == 0 && power + 1 < BINARY.len() {
            rest /= 1024;
            power += 1;
        }
        Some(format!("{rest}{}", BINARY[power]))
    }
}

impl fmt::Display for Quantity {
    /// Writes the canonical form.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.canonical() {
            Some(text) => out.write_str(&text),
            None => write!(out, "{}e{}", self.value, self.exponent),
        }
    }
}

/// Returns the canonical form of a quantity. One that is out of range stays as it is written.
///
/// # Errors
/// [`SHAPE`] for a text that is not a quantity.
pub fn canonical(text: &str) -> Result<String, &'static str> {
    let form = match Quantity::parse(text) {
        Ok(quantity) => quantity.canonical(),
        Err(Refusal::Range) => None,
        Err(Refusal::Shape) => return Err(SHAPE),
    };
    Ok(form.unwrap_or_else(|| text.to_owned()))
}

/// Returns the value in units of 10^-9. Returns `None` if the text is not a quantity, or the value is out of range.
pub fn nanos(text: &str) -> Option<i128> {
    Quantity::parse(text).ok()?.nanos()
}

/// Returns the format of a suffix and its power of 1024 or 10.
fn suffix_of(suffix: &str) -> Result<(Format, i32), Refusal> {
    let place =
        |list: &[&str]| list.iter().position(|known| *known == suffix).and_then(|at| i32::try_from(at).ok());
    if let Some(at) = place(&DECIMAL) {
        return Ok((Format::Decimal, 3 * at - 9));
    }
    if let Some(at) = place(&BINARY) {
        return Ok((Format::Binary, at));
    }
    let digits = suffix.strip_prefix(['e', 'E']).ok_or(Refusal::Shape)?;
    let power: i32 = digits.parse().map_err(|_| Refusal::Shape)?;
    // Upstream negates the power as a 32-bit number.
    power.checked_neg().ok_or(Refusal::Shape)?;
    Ok((Format::Exponent, power))
}

/// Returns the number as a value and an exponent of 10, rounded to units of 10^-9. `None` if it is out of range.
fn number(whole: &str, fraction: &str, format: Format, power: i32) -> Option<(i128, i32)> {
    let mut value: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let mut exponent = -i32::try_from(fraction.len()).ok()?;
    match format {
        Format::Binary => {
            for _ in 0..power {
                value = value.checked_mul(1024)?;
            }
        }
        _ if power > MAX_POWER => return None,
        _ => exponent = exponent.checked_add(power)?,
    }
    // Digits beyond this precision only affect the rounding.
    exponent = exponent.max(-9 - DIGITS);
    while exponent < -9 {
        value = value / 10 + i128::from(value % 10 != 0);
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
