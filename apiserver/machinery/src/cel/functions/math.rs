//! cel-go's `ext.Math`.

use crate::cel::eval::NO_OVERLOAD;
use crate::cel::value::{Outcome, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let name = name.strip_prefix("math.")?;
    Some(match (name, args) {
        ("greatest" | "least", args) => extreme(name == "greatest", args),
        ("ceil", [Val::Double(n)]) => Ok(Val::Double(n.ceil())),
        ("floor", [Val::Double(n)]) => Ok(Val::Double(n.floor())),
        ("round", [Val::Double(n)]) => Ok(Val::Double(n.round())),
        ("trunc", [Val::Double(n)]) => Ok(Val::Double(n.trunc())),
        ("abs", [Val::Double(n)]) => Ok(Val::Double(n.abs())),
        ("abs", [Val::Int(n)]) => n.checked_abs().map(Val::Int).ok_or("integer overflow".into()),
        ("abs", [Val::Uint(n)]) => Ok(Val::Uint(*n)),
        ("sign", [Val::Double(n)]) if *n == 0.0 || n.is_nan() => Ok(Val::Double(*n)),
        ("sign", [Val::Double(n)]) => Ok(Val::Double(n.signum())),
        ("sign", [Val::Int(n)]) => Ok(Val::Int(n.signum())),
        ("sign", [Val::Uint(n)]) => Ok(Val::Uint((*n).min(1))),
        ("sqrt", [Val::Double(n)]) => Ok(Val::Double(n.sqrt())),
        ("sqrt", [Val::Int(n)]) => Ok(Val::Double((*n as f64).sqrt())),
        ("sqrt", [Val::Uint(n)]) => Ok(Val::Double((*n as f64).sqrt())),
        ("isInf", [Val::Double(n)]) => Ok(Val::Bool(n.is_infinite())),
        ("isNaN", [Val::Double(n)]) => Ok(Val::Bool(n.is_nan())),
        ("isFinite", [Val::Double(n)]) => Ok(Val::Bool(n.is_finite())),
        ("bitAnd", [Val::Int(a), Val::Int(b)]) => Ok(Val::Int(a & b)),
        ("bitAnd", [Val::Uint(a), Val::Uint(b)]) => Ok(Val::Uint(a & b)),
        ("bitOr", [Val::Int(a), Val::Int(b)]) => Ok(Val::Int(a | b)),
        ("bitOr", [Val::Uint(a), Val::Uint(b)]) => Ok(Val::Uint(a | b)),
        ("bitXor", [Val::Int(a), Val::Int(b)]) => Ok(Val::Int(a ^ b)),
        ("bitXor", [Val::Uint(a), Val::Uint(b)]) => Ok(Val::Uint(a ^ b)),
        ("bitNot", [Val::Int(a)]) => Ok(Val::Int(!a)),
        ("bitNot", [Val::Uint(a)]) => Ok(Val::Uint(!a)),
        ("bitShiftLeft" | "bitShiftRight", [value, Val::Int(by)]) => {
            shift(name == "bitShiftLeft", value, *by)
        }
        _ => Err(NO_OVERLOAD),
    })
}

fn shift<'a>(left: bool, value: &Val<'a>, by: i64) -> Outcome<'a> {
    let Ok(by) = u32::try_from(by) else {
        return Err(format!(
            "math.{}() negative offset: {by}",
            if left { "bitShiftLeft" } else { "bitShiftRight" }
        )
        .into());
    };
    match value {
        Val::Int(n) if left => Ok(Val::Int(n.checked_shl(by).unwrap_or(0))),
        // A right shift of an int fills with zeros.
        Val::Int(n) => Ok(Val::Int((*n as u64).checked_shr(by).unwrap_or(0) as i64)),
        Val::Uint(n) if left => Ok(Val::Uint(n.checked_shl(by).unwrap_or(0))),
        Val::Uint(n) => Ok(Val::Uint(n.checked_shr(by).unwrap_or(0))),
        _ => Err(NO_OVERLOAD),
    }
}

fn extreme<'a>(greatest: bool, args: &[Val<'a>]) -> Outcome<'a> {
    let items = match args {
        [list @ (Val::List(_) | Val::Array(..))] => list.items().unwrap_or_default(),
        args => args.to_vec(),
    };
    let Some((first, rest)) = items.split_first() else {
        let name = if greatest { "greatest" } else { "least" };
        return Err(format!(
            "math.@{}(list) argument must not be empty",
            if name == "greatest" { "max" } else { "min" }
        )
        .into());
    };
    rest.iter().try_fold(first.clone(), |best, item| match item.order(&best) {
        Some(order) if (greatest && order.is_gt()) || (!greatest && order.is_lt()) => Ok(item.clone()),
        Some(_) => Ok(best),
        None => Err(NO_OVERLOAD),
    })
}
