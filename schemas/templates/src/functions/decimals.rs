//! Arithmetic with floats, which goes by their decimal digits, so that 0.1 and 0.2 are 0.3.

use super::casting::to_float;
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::Outcome;
use crate::values::Value;
use Parameter::Any;

pub(super) const FUNCTIONS: &[Function] = &[
    function("add1f", &[Any], |_, a| {
        Decimal::of(to_float(a.value(0)))?.add(Decimal::of(1.0)?).map(Decimal::value)
    }),
    variadic("addf", &[], Any, |_, a| fold(Decimal::of(0.0)?, a.all(), Decimal::add)),
    variadic("subf", &[Any], Any, |_, a| fold(first(a)?, a.from(1), Decimal::subtract)),
    variadic("mulf", &[Any], Any, |_, a| fold(first(a)?, a.from(1), Decimal::multiply)),
    variadic("divf", &[Any], Any, |_, a| fold(first(a)?, a.from(1), Decimal::divide)),
    variadic("maxf", &[Any], Any, |_, a| Ok(extreme(a, true))),
    variadic("minf", &[Any], Any, |_, a| Ok(extreme(a, false))),
];

fn first(a: &Arguments) -> Outcome<Decimal> {
    Decimal::of(to_float(a.value(0)))
}

fn fold(
    start: Decimal,
    values: &[Value],
    operation: impl Fn(Decimal, Decimal) -> Outcome<Decimal>,
) -> Outcome<Value> {
    let mut result = start;
    for value in values {
        result = operation(result, Decimal::of(to_float(value))?)?;
    }
    Ok(result.value())
}

/// The greatest or the least. What is no number makes the result none.
fn extreme(a: &Arguments, greatest: bool) -> Value {
    let pick = |one: f64, two: f64| {
        if one.is_nan() || two.is_nan() {
            return f64::NAN;
        }
        if greatest { one.max(two) } else { one.min(two) }
    };
    Value::Float(a.from(1).iter().map(to_float).fold(to_float(a.value(0)), pick))
}

/// A number with its decimal digits: `digits * 10^exponent`.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
    /// The value where the digits are too many.
    float: Option<f64>,
}

/// Digits after the point of a quotient.
const QUOTIENT_DIGITS: i32 = 16;

impl Decimal {
    /// The shortest decimal number that is the float.
    fn of(float: f64) -> Outcome<Decimal> {
        if !float.is_finite() {
            return Err("an infinite number, or what is no number, cannot be calculated with".into());
        }
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        Ok(Decimal {
            digits: mantissa.replace('.', "").parse().unwrap_or_default(),
            exponent: exponent.parse::<i32>().unwrap_or_default() - fraction as i32,
            float: None,
        })
    }

    fn float(self) -> f64 {
        self.float.unwrap_or_else(|| format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN))
    }

    fn value(self) -> Value {
        Value::Float(self.float())
    }

    /// The result in decimal digits if they are not too many, and otherwise in floats.
    fn or_float(self, other: Decimal, exact: Option<(i128, i32)>, float: fn(f64, f64) -> f64) -> Decimal {
        match exact.filter(|_| self.float.is_none() && other.float.is_none()) {
            Some((digits, exponent)) => Decimal { digits, exponent, float: None },
            None => Decimal { digits: 0, exponent: 0, float: Some(float(self.float(), other.float())) },
        }
    }

    /// Both digits with the smaller exponent.
    fn aligned(self, other: Decimal) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |number: Decimal| {
            let power = 10i128.checked_pow((number.exponent - exponent).unsigned_abs())?;
            number.digits.checked_mul(power)
        };
        Some((scaled(self)?, scaled(other)?, exponent))
    }

    fn add(self, other: Decimal) -> Outcome<Decimal> {
        let exact =
            self.aligned(other).and_then(|(one, two, exponent)| Some((one.checked_add(two)?, exponent)));
        Ok(self.or_float(other, exact, |one, two| one + two))
    }

    fn subtract(self, other: Decimal) -> Outcome<Decimal> {
        let exact =
            self.aligned(other).and_then(|(one, two, exponent)| Some((one.checked_sub(two)?, exponent)));
        Ok(self.or_float(other, exact, |one, two| one - two))
    }

    fn multiply(self, other: Decimal) -> Outcome<Decimal> {
        let exact =
            self.digits.checked_mul(other.digits).map(|digits| (digits, self.exponent + other.exponent));
        Ok(self.or_float(other, exact, |one, two| one * two))
    }

    /// The quotient, rounded to [`QUOTIENT_DIGITS`], half away from zero.
    fn divide(self, other: Decimal) -> Outcome<Decimal> {
        if other.float() == 0.0 {
            return Err("a number cannot be divided by zero".into());
        }
        let shift = self.exponent - other.exponent + QUOTIENT_DIGITS;
        let power = 10i128.checked_pow(shift.unsigned_abs());
        let exact = power.and_then(|power| {
            let (dividend, divisor) = if shift >= 0 {
                (self.digits.checked_mul(power)?, other.digits)
            } else {
                (self.digits, other.digits.checked_mul(power)?)
            };
            let (quotient, rest) = (dividend / divisor, dividend % divisor);
            let up = rest.checked_mul(2)?.unsigned_abs() >= divisor.unsigned_abs();
            let sign = dividend.signum() * divisor.signum();
            Some((quotient + if up { sign } else { 0 }, -QUOTIENT_DIGITS))
        });
        Ok(self.or_float(other, exact, |one, two| one / two))
    }
}
