//! The actual cost of an evaluation, as in cel-go's `interpreter/runtimecost.go` and in Kubernetes' CEL library.

use super::units::{LIST, MAP, PATTERN, STRUCTURE, TRAVERSAL, scaled};
use crate::syntax::ast::{Expr, ExprKind};
use crate::values::Val;

/// Returns the cost of creating a list, a map or an object. It is 0 for constants, which are created at compile time.
pub(crate) fn made(expr: &Expr) -> u64 {
    match &expr.kind {
        _ if is_constant(expr) => 0,
        ExprKind::Map(_) => MAP,
        ExprKind::Create(_) => STRUCTURE,
        _ => LIST,
    }
}

/// Returns whether the expression is a literal, a list or map of literals, or a conversion of one.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Uint(_)
        | ExprKind::Double(_)
        | ExprKind::Text(_)
        | ExprKind::Bytes(_) => true,
        ExprKind::Call(call) => {
            call.target.is_none() && call.args.len() == 1 && is_folded(&call.function, &call.args)
        }
        ExprKind::List(items) => items.iter().all(|(_, item)| is_constant(item)),
        ExprKind::Map(entries) => {
            entries.iter().all(|(_, key, value)| is_constant(key) && is_constant(value))
        }
        _ => false,
    }
}

/// Returns whether cel-go evaluates the call at compile time.
pub(crate) fn is_folded(name: &str, args: &[Expr]) -> bool {
    const CONVERSIONS: [&str; 10] =
        ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];
    match args {
        [argument] => CONVERSIONS.contains(&name) && is_constant(argument),
        [_, list] => name == "@in" && is_constant(list),
        _ => false,
    }
}

/// Returns the cost of a call without that of its arguments. The receiver is the first argument if `member` is set.
pub(crate) fn called(name: &str, member: bool, args: &[Val<'_>], result: Option<&Val<'_>>) -> u64 {
    let at = |index: usize| args.get(index).map_or(0, size);
    let traversal = |size: u64| scaled(size, TRAVERSAL);
    match (name, args) {
        // As in kube-apiserver, one expression can ask twice.
        ("check", [Val::Authority(_), ..]) => 350_000,
        ("fieldSelector" | "labelSelector", [Val::Authority(_), selector]) => {
            let requirements = scaled(size(selector), 0.5);
            LIST + traversal(size(selector)) + requirements.saturating_mul(LIST + STRUCTURE)
        }
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", [first, ..]) => traversed(first),
        ("url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "jsonpatch.escapeKey", _) => {
            traversal(at(0))
        }
        ("replace" | "split", _) => scaled(at(0), 2.0 * TRAVERSAL),
        ("join", _) => scaled(result.map_or(1, size), 2.0 * TRAVERSAL),
        // cel-go knows the cost of `text.matches(pattern)` only.
        ("matches", _) if !member => 1,
        ("find" | "findAll" | "matches", [_, _, ..]) => {
            scaled(at(0).saturating_add(1), TRAVERSAL).saturating_mul(scaled(at(1), PATTERN))
        }
        ("cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver", _) => {
            traversal(at(0))
        }
        ("ip", [Val::Text(_)]) => traversal(at(0)),
        ("ip.isCanonical", _) => scaled(at(0), 2.0 * TRAVERSAL),
        ("containsIP" | "containsCIDR", [_, other]) => {
            let parse = if matches!(other, Val::Text(_)) { traversal(size(other)) } else { 0 };
            let compare = traversal(at(0).saturating_mul(2));
            let masked = if name == "containsIP" { 0 } else { traversal(at(0)) + 1 };
            compare.saturating_add(masked).saturating_add(parse)
        }
        ("validate", [_, text]) => scaled(traversal(size(text)), 64.0 * PATTERN),
        ("slice" | "reverse" | "lists.range", _) => CALL + LIST + result.map_or(1, size),
        ("flatten", _) => {
            let depth = match args.get(1) {
                Some(Val::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
                _ => 1,
            };
            (CALL + LIST).saturating_add(at(0).saturating_mul(depth))
        }
        ("distinct" | "sort", [list]) => CALL + LIST + compared(&list.items().unwrap_or_default()),
        ("sets.contains" | "sets.intersects", [_, _]) => at(0).saturating_mul(at(1)).saturating_add(1),
        ("sets.equivalent", [_, _]) => at(0).saturating_mul(at(1)).saturating_mul(2).saturating_add(1),
        ("startsWith" | "endsWith", _) => traversal(at(0)),
        ("bytes", [Val::Text(_)]) | ("string", [Val::Bytes(_)]) => traversal(at(0)),
        ("@in", [_, list @ (Val::List(_) | Val::Array(..))]) => size(list),
        ("_==_", [a, _]) if a.is_own() => 1,
        ("_==_" | "_!=_", [a, b]) => traversal(size(a).min(size(b))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a @ (Val::Text(_) | Val::Bytes(_)), b]) => {
            traversal(size(a).min(size(b)))
        }
        ("_+_", [a @ (Val::Text(_) | Val::Bytes(_)), b]) => traversal(size(a).saturating_add(size(b))),
        ("contains", [_, _]) => traversal(at(0)).saturating_mul(traversal(at(1))),
        ("format", _) => traversal(at(0)).max(1),
        _ => 1,
    }
}

/// Cost of a call itself.
const CALL: u64 = 1;

/// Returns the cost of comparing each item with each other one, as for sorting or for finding duplicates.
pub(crate) fn compared(items: &[Val<'_>]) -> u64 {
    let text = matches!(items.first(), Some(Val::Text(_) | Val::Bytes(_)));
    let factor = if text { 2.0 + TRAVERSAL } else { 2.0 };
    let pairs = (items.len() as u64).saturating_mul(items.len() as u64);
    (pairs as f64 * factor) as u64
}

/// Returns the number of characters, bytes, items or entries, or 1 for a value without a size.
fn size(value: &Val<'_>) -> u64 {
    let size = match value {
        Val::Text(text) => text.chars().count(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.len(),
        Val::Array(list, _) => list.len(),
        Val::Map(map) => map.len(),
        Val::Object(map, _) => map.len(),
        Val::Cidr(cidr) => usize::from(cidr.bits.div_ceil(8)),
        _ => 1,
    };
    size as u64
}

/// Returns the cost of reading everything in a value.
fn traversed(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Val::List(_) | Val::Array(..) => {
            value.items().unwrap_or_default().iter().fold(0, |sum, item| sum.saturating_add(traversed(item)))
        }
        Val::Map(_) | Val::Object(..) => {
            let entries = value.entries().unwrap_or_default();
            entries.iter().fold(0, |sum: u64, (key, value)| {
                sum.saturating_add(traversed(key)).saturating_add(traversed(value))
            })
        }
        _ => 1,
    }
}
