//! Lists and sets: Kubernetes' list library and cel-go's `ext.Lists` and `ext.Sets`.

use std::cmp::Ordering;

use crate::values::{Failure, NO_OVERLOAD, Outcome, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if let ("lists.range", [Val::Int(count)]) = (name, args) {
        return Some(match count {
            0..=1_000_000 => Ok(Val::list((0..*count).map(Val::Int).collect())),
            i64::MIN..0 => Ok(Val::list(Vec::new())),
            _ => Err("operation cancelled: actual cost limit exceeded".into()),
        });
    }
    let (first, rest) = args.split_first()?;
    let items = first.items()?;
    let ordered = items.first().is_none_or(|item| item.order(item).is_some());
    Some(match (name, rest) {
        ("isSorted" | "min" | "max", []) if !ordered => return None,
        ("isSorted", []) => {
            let mut sorted = true;
            for pair in items.windows(2) {
                match pair[0].order(&pair[1]) {
                    Some(order) => sorted &= order.is_le(),
                    None => return None,
                }
            }
            Ok(Val::Bool(sorted))
        }
        ("sum", []) => return sum(&items),
        ("min", []) => return extreme(&items, "min", Ordering::Less),
        ("max", []) => return extreme(&items, "max", Ordering::Greater),
        ("indexOf", [wanted]) => Ok(position(items.iter().position(|item| item.equals(wanted)))),
        ("lastIndexOf", [wanted]) => Ok(position(items.iter().rposition(|item| item.equals(wanted)))),
        ("slice", [Val::Int(from), Val::Int(to)]) => slice(&items, *from, *to),
        ("flatten", []) => Ok(Val::list(flatten(items, 1))),
        ("flatten", [Val::Int(depth)]) if *depth < 0 => Err("level must be non-negative".into()),
        ("flatten", [Val::Int(depth)]) => Ok(Val::list(flatten(items, *depth))),
        ("reverse", []) => Ok(Val::list(items.into_iter().rev().collect())),
        ("distinct", []) => {
            let mut out: Vec<Val<'a>> = Vec::new();
            for item in items {
                if !out.iter().any(|found| found.equals(&item)) {
                    out.push(item);
                }
            }
            Ok(Val::list(out))
        }
        ("sort", []) => {
            if items.first().is_some_and(|first| first.order(first).is_none()) {
                return Some(Err("list elements must be comparable".into()));
            }
            if items.windows(2).any(|pair| pair[0].order(&pair[1]).is_none()) {
                return Some(Err("list elements must have the same type".into()));
            }
            let mut items = items;
            items.sort_by(|a, b| a.order(b).unwrap_or(Ordering::Equal));
            Ok(Val::list(items))
        }
        ("first", []) => Ok(Val::Optional(items.into_iter().next().map(Into::into))),
        ("last", []) => Ok(Val::Optional(items.into_iter().next_back().map(Into::into))),
        ("sets.contains", [other]) => {
            sets(&items, other, |a, b| Val::Bool(b.iter().all(|item| has(a, item))))
        }
        ("sets.intersects", [other]) => {
            sets(&items, other, |a, b| Val::Bool(b.iter().any(|item| has(a, item))))
        }
        ("sets.equivalent", [other]) => sets(&items, other, |a, b| {
            Val::Bool(b.iter().all(|item| has(a, item)) && a.iter().all(|item| has(b, item)))
        }),
        _ => return None,
    })
}

fn has(list: &[Val<'_>], item: &Val<'_>) -> bool {
    list.iter().any(|found| found.equals(item))
}

fn sets<'a>(
    items: &[Val<'a>],
    other: &Val<'a>,
    decide: impl FnOnce(&[Val<'a>], &[Val<'a>]) -> Val<'a>,
) -> Outcome<'a> {
    let other = other.items().ok_or(NO_OVERLOAD)?;
    Ok(decide(items, &other))
}

fn position<'a>(at: Option<usize>) -> Val<'a> {
    Val::Int(at.map_or(-1, |at| at as i64))
}

/// Returns `None` if the items cannot be added.
fn sum<'a>(items: &[Val<'a>]) -> Option<Outcome<'a>> {
    let Some((first, rest)) = items.split_first() else { return Some(Ok(Val::Int(0))) };
    if !matches!(first, Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_)) {
        return None;
    }
    let mut total = first.clone();
    for item in rest {
        let added = match (&total, item) {
            (Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or("integer overflow"),
            (Val::Uint(a), Val::Uint(b)) => {
                a.checked_add(*b).map(Val::Uint).ok_or("unsigned integer overflow")
            }
            (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
            (Val::Duration(a), Val::Duration(b)) => {
                a.checked_add(*b).map(Val::Duration).ok_or("duration overflow")
            }
            _ => return None,
        };
        match added {
            Ok(added) => total = added,
            Err(why) => return Some(Err(why.into())),
        }
    }
    Some(Ok(total))
}

/// Returns `None` if the items have no order.
fn extreme<'a>(items: &[Val<'a>], name: &str, wanted: Ordering) -> Option<Outcome<'a>> {
    let Some((first, rest)) = items.split_first() else {
        return Some(Err(format!("{name} called on empty list").into()));
    };
    let mut best = first;
    for item in rest {
        if item.order(best)? == wanted {
            best = item;
        }
    }
    Some(Ok(best.clone()))
}

fn slice<'a>(items: &[Val<'a>], from: i64, to: i64) -> Outcome<'a> {
    let fail = |text: String| -> Outcome<'a> { Err(Failure::Owned(text)) };
    if from < 0 || to < 0 {
        return fail(format!("cannot slice({from}, {to}), negative indexes not supported"));
    }
    if from > to {
        return fail(format!(
            "cannot slice({from}, {to}), start index must be less than or equal to end index"
        ));
    }
    match items.get(from as usize..to as usize) {
        Some(part) => Ok(Val::list(part.to_vec())),
        None => fail(format!("cannot slice({from}, {to}), list is length {}", items.len())),
    }
}

fn flatten<'a>(items: Vec<Val<'a>>, depth: i64) -> Vec<Val<'a>> {
    let mut out = Vec::new();
    for item in items {
        match item.items().filter(|_| depth > 0) {
            Some(inner) => out.extend(flatten(inner, depth - 1)),
            None => out.push(item),
        }
    }
    out
}
