//! Operators: comparisons, `in`, indexing and arithmetic.

use std::rc::Rc;

use super::lookup::index;
use super::times;
use crate::values::{Failure, NO_OVERLOAD, Outcome, Val};

pub(super) fn operator<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("!_", [Val::Bool(flag)]) => Ok(Val::Bool(!flag)),
        ("-_", [Val::Int(n)]) => n.checked_neg().map(Val::Int).ok_or("integer overflow".into()),
        ("-_", [Val::Double(n)]) => Ok(Val::Double(-n)),
        ("-_", [Val::Uint(_) | Val::Bytes(_) | Val::Null]) => Err("no such overload: -_".into()),
        ("!_" | "-_", _) => Err(NO_OVERLOAD),
        // Values of Kubernetes' types only compare with values of the same type.
        ("_==_" | "_!=_", [a, b]) if a.is_own() && a.type_name() != b.type_name() => Err(NO_OVERLOAD),
        ("_==_", [a, b]) => Ok(Val::Bool(a.equals(b))),
        ("_!=_", [a, b]) => Ok(Val::Bool(!a.equals(b))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            let comparable = a.type_name() == b.type_name() || (is_number(a) && is_number(b));
            match a.order(b) {
                Some(order) => Ok(Val::Bool(match name {
                    "_<_" => order.is_lt(),
                    "_<=_" => order.is_le(),
                    "_>_" => order.is_gt(),
                    _ => order.is_ge(),
                })),
                None if comparable && is_number(a) => Ok(Val::Bool(false)),
                None => Err(not_taken(name, a)),
            }
        }
        ("@in", [item, list]) => match (list.items(), list) {
            (Some(items), _) => Ok(Val::Bool(items.iter().any(|found| found.equals(item)))),
            (None, Val::Object(..) | Val::Map(_)) => Ok(Val::Bool(list.get(item).is_some())),
            _ => Err(NO_OVERLOAD),
        },
        ("_[_]" | "_[?_]", [target, key]) => {
            let optional = name == "_[?_]";
            match target {
                Val::Optional(inner) => {
                    let found = inner.as_deref().and_then(|inner| index(inner, key).ok());
                    Ok(Val::Optional(found.map(Rc::new)))
                }
                _ if optional => Ok(Val::Optional(index(target, key).ok().map(Rc::new))),
                _ => index(target, key),
            }
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [a, b]) => arithmetic(name, a, b),
        _ => return None,
    })
}

fn is_number(value: &Val<'_>) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

fn arithmetic<'a>(name: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let overflow = |text: &'static str| move || Failure::Borrowed(text);
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" if *b == 0 => return Err("division by zero".into()),
                "_/_" => a.checked_div(*b),
                _ if *b == 0 => return Err("modulus by zero".into()),
                _ => a.checked_rem(*b),
            };
            result.map(Val::Int).ok_or_else(overflow("integer overflow"))
        }
        (Val::Uint(a), Val::Uint(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" if *b == 0 => return Err("division by zero".into()),
                "_/_" => a.checked_div(*b),
                _ if *b == 0 => return Err("modulus by zero".into()),
                _ => a.checked_rem(*b),
            };
            result.map(Val::Uint).ok_or_else(overflow("unsigned integer overflow"))
        }
        (Val::Double(a), Val::Double(b)) => match name {
            "_+_" => Ok(Val::Double(a + b)),
            "_-_" => Ok(Val::Double(a - b)),
            "_*_" => Ok(Val::Double(a * b)),
            "_/_" => Ok(Val::Double(a / b)),
            _ => Err("no such overload: _%_".into()),
        },
        (Val::Text(a), Val::Text(b)) if name == "_+_" => Ok(Val::text(format!("{a}{b}"))),
        (Val::Bytes(a), Val::Bytes(b)) if name == "_+_" => Ok(Val::Bytes([&**a, &**b].concat().into())),
        (Val::Array(..) | Val::List(_), Val::Array(..) | Val::List(_)) if name == "_+_" => {
            a.concat(b).ok_or(NO_OVERLOAD)
        }
        _ => times::arithmetic(name, a, b).unwrap_or_else(|| Err(not_taken(name, a))),
    }
}

/// Returns cel-go's error for operands that do not fit. It names the operator if the first operand's type does not
/// support it.
fn not_taken(name: &str, first: &Val<'_>) -> Failure {
    let number = is_number(first);
    // In cel-go, strings, durations and timestamps are receivers, whose errors do not name the operator.
    let knows = number && !(name == "_%_" && matches!(first, Val::Double(_)))
        || matches!(first, Val::Text(_) | Val::Duration(_) | Val::Timestamp(_))
        || match first {
            Val::Bytes(_) => !matches!(name, "_-_" | "_*_" | "_/_" | "_%_"),
            Val::Bool(_) => name.contains(['<', '>']),
            Val::List(_) | Val::Array(..) => name == "_+_",
            _ => false,
        };
    if knows { NO_OVERLOAD } else { format!("no such overload: {name}").into() }
}
