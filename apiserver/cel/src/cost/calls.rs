//! The maximum cost of calls, and the maximum size of their results.

use super::node::Node;
use super::sizes::{Place, Size};
use super::units::{LIST, PATTERN, TRAVERSAL, scaled};
use crate::types::Type;

/// Length of the longest pattern of a named format, in characters.
const FORMAT: f64 = 128.0;

/// Cost of a call without its arguments, and the size of its result if the call limits it.
pub(super) struct CallCost {
    pub(super) cost: u64,
    pub(super) size: Option<Size>,
}

type Argument<'s> = (Node<'s>, Type<'s>);

fn only(cost: u64) -> CallCost {
    CallCost { cost, size: None }
}

fn traversal(size: Size) -> u64 {
    scaled(size.max, TRAVERSAL)
}

pub(super) fn cost(name: &str, target: Option<&Argument<'_>>, args: &[Argument<'_>]) -> CallCost {
    let found = match (target, args) {
        (Some(target), args) => member(name, target, args),
        (None, args) => global(name, args),
    };
    found.unwrap_or_else(|| only(1))
}

/// Returns the size of the items of a list, and whether they are text.
fn items(list: &Argument<'_>) -> Option<(Size, bool)> {
    let Type::List(item) = &list.1 else { return None };
    let place = list.0.place.and_then(Place::item);
    let size = place.and_then(Place::size).unwrap_or(Size::UNKNOWN);
    Some((size, item.is_text()))
}

fn member(name: &str, target: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallCost> {
    let size = target.0.size();
    let argument = |index: usize| args.get(index).map_or(Size::UNKNOWN, |(node, _)| node.size());
    Some(match (name, args.len()) {
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", _) => match items(target) {
            Some((item, text)) => {
                let each = 1_u64.saturating_add(if text { traversal(item) } else { 0 });
                only(size.max.saturating_mul(each))
            }
            None => only(traversal(size)),
        },
        ("lowerAscii" | "upperAscii" | "substring" | "trim", _) => {
            CallCost { cost: traversal(size), size: Some(size) }
        }
        ("replace", 2..) => {
            let result = replaced(size, argument(0), argument(1));
            CallCost { cost: scaled(size.max, 2.0 * TRAVERSAL), size: Some(result) }
        }
        ("split", _) => {
            let max = args.get(1).and_then(literal).unwrap_or(size.max);
            CallCost { cost: scaled(size.max, 2.0 * TRAVERSAL), size: Some(Size { min: 0, max }) }
        }
        ("join", _) => {
            let mut joined = items(target).map_or(Size::ZERO, |(item, _)| size.times(item));
            if !args.is_empty() {
                let between = Size { min: size.min.saturating_sub(1), max: size.max.saturating_sub(1) };
                joined = joined.plus(argument(0).times(between));
            }
            CallCost { cost: traversal(joined), size: Some(joined) }
        }
        ("find" | "findAll", 1..) => {
            let cost = matching(size, argument(0));
            CallCost { cost, size: Some(Size { min: 0, max: size.max }) }
        }
        ("matches", 1) => only(matching(size, argument(0))),
        ("contains", 1) => only(traversal(size).saturating_mul(traversal(argument(0)))),
        ("startsWith" | "endsWith", 1) => only(traversal(argument(0))),
        ("format", 1) => only(traversal(size)),
        ("slice", 2) => {
            let (start, end) = (literal(&args[0]).unwrap_or(0), literal(&args[1]).unwrap_or(size.max));
            list(1, Size::fixed(end.wrapping_sub(start)))
        }
        ("reverse", 0) => list(1, size),
        ("flatten", 0) => list(1, size),
        ("flatten", 1) => list(literal(&args[0]).unwrap_or(u64::MAX), size),
        ("distinct", 0) => list(2, size.times(size)),
        ("sort", 0) => {
            let pairs = size.times(size);
            let text = items(target).is_some_and(|(_, text)| text);
            let factor = if text { 2.0 + TRAVERSAL } else { 2.0 };
            CallCost { cost: scaled(pairs.max, factor).saturating_add(1 + LIST), size: Some(pairs) }
        }
        ("containsIP", 1..) => {
            // Comparing two addresses reads up to 16 bytes of each; a string must be parsed first.
            let parse = if args[0].1.is_text() { traversal(argument(0)) } else { 0 };
            only(scaled(32, TRAVERSAL).saturating_add(parse))
        }
        ("containsCIDR", 1..) => {
            let parse = if args[0].1.is_text() { traversal(argument(0)) } else { 0 };
            let compare = scaled(32, TRAVERSAL) + scaled(16, TRAVERSAL) + 1;
            only(compare.saturating_add(parse))
        }
        ("validate", 1) => only(scaled(traversal(argument(0)), FORMAT * PATTERN)),
        _ => return None,
    })
}

fn global(name: &str, args: &[Argument<'_>]) -> Option<CallCost> {
    Some(match (name, args) {
        ("url" | "jsonpatch.escapeKey", [(node, _)]) => {
            CallCost { cost: traversal(node.size()), size: Some(node.size()) }
        }
        (
            "semver" | "isSemver" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity",
            [(node, _), ..],
        ) => only(traversal(node.size())),
        ("ip.isCanonical", [(node, _)]) => only(scaled(node.size().max, 2.0 * TRAVERSAL)),
        ("lists.range", [count]) => list(1, Size::fixed(literal(count).unwrap_or(u64::MAX))),
        ("_==_", [(_, left), (b, right)]) if left == right && is_own(left) => match left {
            Type::Simple("kubernetes.URL") => only(traversal(b.size.unwrap_or(Size::ONE))),
            Type::Simple("kubernetes.NamedFormat") => only(scaled(LONGEST_FORMAT, TRAVERSAL)),
            _ => only(1),
        },
        ("bytes", [(node, kind)]) if kind.is_text() || *kind == Type::Dyn => {
            let size = node.size();
            let size = Size { min: size.min, max: size.max.saturating_mul(4) };
            CallCost { cost: traversal(node.size()).max(1), size: Some(size) }
        }
        ("string", [(node, Type::Simple("bytes"))]) => {
            let size = node.size();
            CallCost { cost: traversal(size), size: Some(Size { min: size.min / 4, max: size.max }) }
        }
        ("string", [(node, Type::Dyn)]) => {
            CallCost { cost: traversal(node.size()).max(1), size: Some(node.size()) }
        }
        ("strings.quote", [(node, _)]) => {
            let size = node.size();
            let quoted =
                Size { min: size.min.saturating_add(2), max: size.max.saturating_mul(2).saturating_add(2) };
            CallCost { cost: traversal(size), size: Some(quoted) }
        }
        ("@in", [_, (list, kind)]) => match kind {
            Type::Map(..) => only(1),
            Type::Dyn => only(list.size().max.max(1)),
            _ => only(list.size().max),
        },
        ("_+_", [(a, left), (b, right)]) => {
            let size = a.size().plus(b.size());
            let (text, list) = (left.is_text() || right.is_text(), matches!(left, Type::List(_)));
            if text || [left, right].iter().all(|kind| **kind == Type::Dyn) {
                CallCost { cost: traversal(size).max(u64::from(!text)), size: Some(size) }
            } else {
                CallCost { cost: 1, size: list.then_some(size) }
            }
        }
        ("_==_" | "_!=_", [(a, _), (b, _)]) => only(traversal(smaller(a.size(), b.size()))),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [(a, left), (b, right)]) => {
            let compared = traversal(smaller(a.size(), b.size()));
            if left.is_text() || right.is_text() {
                only(compared)
            } else if *left == Type::Dyn || *right == Type::Dyn {
                only(compared.max(1))
            } else {
                only(1)
            }
        }
        ("sets.contains" | "sets.intersects", [(a, _), (b, _)]) => only(product(a, b, 1)),
        ("sets.equivalent", [(a, _), (b, _)]) => only(product(a, b, 2)),
        _ => return None,
    })
}

/// Returns the cost of a call that creates a list of `size` items, at a cost of `each` per item.
fn list(each: u64, size: Size) -> CallCost {
    CallCost { cost: size.max.saturating_mul(each).saturating_add(1 + LIST), size: Some(size) }
}

/// Returns the value of an argument that is an integer literal.
fn literal(argument: &Argument<'_>) -> Option<u64> {
    argument.0.literal
}

/// Length of the longest name of a format.
const LONGEST_FORMAT: u64 = 64;

/// Returns whether the type belongs to Kubernetes' CEL library.
fn is_own(kind: &Type<'_>) -> bool {
    matches!(kind, Type::Simple(name) if name.starts_with("kubernetes.") || name.starts_with("net."))
}

fn product(a: &Node<'_>, b: &Node<'_>, times: u64) -> u64 {
    a.size().max.saturating_mul(b.size().max).saturating_mul(times).saturating_add(1)
}

fn smaller(a: Size, b: Size) -> Size {
    Size { min: 0, max: a.max.min(b.max) }
}

/// Returns the cost of matching a regular expression. The additional character gives the empty text a cost.
fn matching(text: Size, pattern: Size) -> u64 {
    scaled(text.max.saturating_add(1), TRAVERSAL).saturating_mul(scaled(pattern.max, PATTERN))
}

/// Returns the size of a text in which `from` was replaced by `to`.
fn replaced(text: Size, from: Size, to: Size) -> Size {
    let (count, kept) = if from.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if to.max <= from.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(from.min), 0)
    };
    Size { min: 0, max: count.saturating_mul(to.max).saturating_add(kept) }
}
