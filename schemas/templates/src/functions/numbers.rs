//! Arithmetic with integers, which wraps around as Go's does, rounding, and rows of numbers.

use super::casting::{to_float, to_int};
use super::{Arguments, Function, Parameter, function, variadic};
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::values::{Element, Value, Work};
use Parameter::{Any, Float, Int};

pub(super) const FUNCTIONS: &[Function] = &[
    function("add1", &[Any], |_, a| Ok(Value::Int64(to_int(a.value(0)).wrapping_add(1)))),
    variadic("add", &[], Any, |_, a| Ok(fold(0, a.all(), i64::wrapping_add))),
    function("sub", &[Any, Any], |_, a| Ok(fold(to_int(a.value(0)), a.from(1), i64::wrapping_sub))),
    variadic("mul", &[Any], Any, |_, a| Ok(fold(to_int(a.value(0)), a.from(1), i64::wrapping_mul))),
    function("div", &[Any, Any], |_, a| divided(a, i64::wrapping_div)),
    function("mod", &[Any, Any], |_, a| divided(a, i64::wrapping_rem)),
    variadic("max", &[Any], Any, |_, a| Ok(fold(to_int(a.value(0)), a.from(1), i64::max))),
    variadic("biggest", &[Any], Any, |_, a| Ok(fold(to_int(a.value(0)), a.from(1), i64::max))),
    variadic("min", &[Any], Any, |_, a| Ok(fold(to_int(a.value(0)), a.from(1), i64::min))),
    function("floor", &[Any], |_, a| Ok(Value::Float(to_float(a.value(0)).floor()))),
    function("ceil", &[Any], |_, a| Ok(Value::Float(to_float(a.value(0)).ceil()))),
    variadic("round", &[Any, Int], Float, round),
    function("until", &[Int], |work, a| {
        let count = a.int(0);
        row(work, 0, count, if count < 0 { -1 } else { 1 })
    }),
    function("untilStep", &[Int, Int, Int], |work, a| row(work, a.int(0), a.int(1), a.int(2))),
    variadic("seq", &[], Int, sequence),
];

fn fold(start: i64, values: &[Value], operation: impl Fn(i64, i64) -> i64) -> Value {
    Value::Int64(values.iter().map(to_int).fold(start, operation))
}

fn divided(a: &Arguments, operation: impl Fn(i64, i64) -> i64) -> Outcome<Value> {
    match (to_int(a.value(0)), to_int(a.value(1))) {
        (_, 0) => Err("an integer cannot be divided by zero".into()),
        (dividend, divisor) => Ok(Value::Int64(operation(dividend, divisor))),
    }
}

/// Rounds to a number of digits. The third argument is the fraction from which it is up.
fn round(_: &mut Work, a: &Arguments) -> Outcome<Value> {
    let up_from = if let Value::Float(up_from) = a.value(2) { *up_from } else { 0.5 };
    let power = f64::powf(10.0, a.int(1) as f64);
    let digits = power * to_float(a.value(0));
    let rounded = if digits.fract() >= up_from { digits.ceil() } else { digits.floor() };
    Ok(Value::Float(rounded / power))
}

/// The numbers from `start` to before `stop`. There are none if the step has the wrong sign.
fn numbers(work: &mut Work, start: i64, stop: i64, step: i64) -> Outcome<Vec<i64>> {
    let distance = i128::from(stop) - i128::from(start);
    let right_way = if distance < 0 { step < 0 } else { step > 0 };
    if !right_way || distance == 0 {
        return Ok(Vec::new());
    }
    let count = distance.unsigned_abs().div_ceil(u128::from(step.unsigned_abs()));
    let Ok(count) = usize::try_from(count) else {
        return Err(Failure::Limit("steps", limits::STEPS_MAX));
    };
    work.steps(count)?;
    Ok((0..count as i64).map(|position| start.wrapping_add(position.wrapping_mul(step))).collect())
}

fn row(work: &mut Work, start: i64, stop: i64, step: i64) -> Outcome<Value> {
    let numbers = numbers(work, start, stop, step)?;
    work.list(Element::Int, numbers.into_iter().map(Value::Int).collect())
}

/// The numbers up to and with the end, as text.
fn sequence(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let direction = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match a.all().len() {
        1 => (1, direction(1, a.int(0)), a.int(0)),
        2 => (a.int(0), direction(a.int(0), a.int(1)), a.int(1)),
        3 if a.int(2) < a.int(0) && a.int(1) > 0 => return work.text(""),
        3 => (a.int(0), a.int(1), a.int(2)),
        _ => return work.text(""),
    };
    let numbers = numbers(work, start, end.wrapping_add(direction(start, end)), step)?;
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    work.text(texts.join(" "))
}
