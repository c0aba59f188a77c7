//! Kubernetes quantities, for example `1Gi`, `100m` or `1e3`.

use std::cmp::Ordering;

use machinery::quantity::SHAPE;

/// An exact quantity, which is `value` times 10 to the power of `exponent`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantity {
    value: i128,
    exponent: i32,
    /// Whether the number was a fraction of a binary unit. Such a number is never an integer, even if its value is
    /// whole.
    inexact: bool,
}

impl Quantity {
    /// Parses a quantity.
    ///
    /// # Errors
    /// The message of kube-apiserver.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let end = text
            .char_indices()
            .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || (*i == 0 && matches!(c, '+' | '-'))))
            .map_or(text.len(), |(i, _)| i);
        let (number, suffix) = text.split_at(end);
        let (negative, digits) = match number.as_bytes().first() {
            Some(b'-') => (true, &number[1..]),
            Some(b'+') => (false, &number[1..]),
            _ => (false, number),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if digits.is_empty() || fraction.contains('.') || digits.len() > 30 {
            return Err(SHAPE);
        }
        let mut value: i128 = format!("0{whole}{fraction}").parse().map_err(|_| SHAPE)?;
        let mut exponent = -i32::try_from(fraction.len()).map_err(|_| SHAPE)?;
        match suffix_of(suffix)? {
            (1024, power) => {
                for _ in 0..power {
                    value = value.checked_mul(1024).ok_or(SHAPE)?;
                }
            }
            (_, power) => exponent = exponent.checked_add(power).ok_or(SHAPE)?,
        }
        let inexact = suffix.ends_with('i') && !fraction.is_empty();
        Ok(Self { value: if negative { -value } else { value }, exponent, inexact })
    }

    /// Returns the quantity of a whole number.
    pub fn from_int(value: i64) -> Self {
        Self { value: value.into(), exponent: 0, inexact: false }
    }

    fn aligned(&self, other: &Self) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scale = |q: &Self| {
            let by = u32::try_from(i64::from(q.exponent) - i64::from(exponent)).ok()?;
            q.value.checked_mul(10i128.checked_pow(by)?)
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

    /// Returns the sum, or `None` if it is out of range.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Self { value: a.checked_add(b)?, exponent, inexact: self.inexact || other.inexact })
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
        if self.inexact {
            return None;
        }
        let mut value = self.value;
        if self.exponent >= 0 {
            value = value.checked_mul(10i128.checked_pow(u32::try_from(self.exponent).ok()?)?)?;
        } else {
            let by = 10i128.checked_pow(self.exponent.unsigned_abs())?;
            if value % by != 0 {
                return None;
            }
            value /= by;
        }
        i64::try_from(value).ok()
    }

    /// Returns the nearest float.
    pub fn as_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

/// Returns the base (1024 or 10) and the power of a suffix.
fn suffix_of(suffix: &str) -> Result<(u32, i32), &'static str> {
    Ok(match suffix {
        "" => (10, 0),
        "Ki" => (1024, 1),
        "Mi" => (1024, 2),
        "Gi" => (1024, 3),
        "Ti" => (1024, 4),
        "Pi" => (1024, 5),
        "Ei" => (1024, 6),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        _ => {
            let digits = suffix.strip_prefix(['e', 'E']).ok_or(SHAPE)?;
            let power: i32 = digits.parse().map_err(|_| SHAPE)?;
            if !(-30..=30).contains(&power) {
                return Err(SHAPE);
            }
            (10, power)
        }
    })
}
