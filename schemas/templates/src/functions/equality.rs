//! Whether two values are the same in all their parts, as Go's `reflect.DeepEqual` says: also in their types.

use super::{Function, Parameter, function};
use crate::error::Outcome;
use crate::values::{Value, Work, check_depth};
use Parameter::Any;

pub(super) const FUNCTIONS: &[Function] =
    &[function("deepEqual", &[Any, Any], |work, a| equal(work, a.value(0), a.value(1)).map(Value::Bool))];

/// Whether two values are the same.
pub(super) fn equal(work: &mut Work, one: &Value, two: &Value) -> Outcome<bool> {
    nested(work, one, two, 0)
}

fn nested(work: &mut Work, one: &Value, two: &Value, depth: usize) -> Outcome<bool> {
    check_depth(depth)?;
    work.steps(1)?;
    Ok(match (one, two) {
        (Value::Missing | Value::Nil, Value::Missing | Value::Nil) => true,
        (Value::Bool(one), Value::Bool(two)) => one == two,
        (Value::Float(one), Value::Float(two)) => one == two,
        (Value::Text(one), Value::Text(two)) => one == two,
        (Value::Time(one), Value::Time(two)) => one == two,
        (Value::Version(one), Value::Version(two)) => one == two,
        (Value::List(one), Value::List(two)) => {
            let same = one.element() == two.element() && one.is_nil() == two.is_nil();
            if !same || one.items().len() != two.items().len() {
                return Ok(false);
            }
            for (one, two) in one.items().iter().zip(two.items()) {
                if !nested(work, one, two, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(one), Value::Map(two)) => {
            let same = one.values() == two.values() && one.is_nil() == two.is_nil();
            if one.is_same(two) && same {
                return Ok(true);
            }
            if !same || one.len() != two.len() {
                return Ok(false);
            }
            let others = work.entries(two)?;
            for ((key, value), (other_key, other)) in work.entries(one)?.iter().zip(&others) {
                if key != other_key || !nested(work, value, other, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (one, two) => {
            one.type_name() == two.type_name()
                && (one.signed().is_some() && one.signed() == two.signed()
                    || one.unsigned().is_some() && one.unsigned() == two.unsigned())
        }
    })
}
