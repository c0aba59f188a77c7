//! Equality and order of values, and concatenation of lists, which depends on equality.

use std::cmp::Ordering;

use machinery::schema::{ListType, Schema};
use serde_json::Value;

use super::value::{Val, child};
use super::work;

impl<'a> Val<'a> {
    fn list_type(&self) -> Option<(ListType, &'a Schema)> {
        match self {
            Val::Array(_, Some(schema)) => schema.list_type.map(|kind| (kind, *schema)),
            _ => None,
        }
    }

    /// Compares as CEL does: numbers by value across types, and sets and list maps regardless of order.
    pub fn equals(&self, other: &Val<'_>) -> bool {
        if work::is_exceeded() {
            return false;
        }
        work::count(1);
        match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                number_order(self, other) == Some(Ordering::Equal)
            }
            (Val::Text(a), Val::Text(b)) => {
                work::text(a.len().min(b.len()));
                a == b
            }
            (Val::Bytes(a), Val::Bytes(b)) => {
                work::text(a.len().min(b.len()));
                a == b
            }
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Array(a, Some(s)), Val::Array(b, Some(t))) if std::ptr::eq(*s, *t) && same_list(a, b) => {
                true
            }
            (Val::Object(a, _), Val::Object(b, _)) if std::ptr::eq(*a, *b) => true,
            (Val::Object(a, schema), Val::Object(b, other)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, value)| {
                        let (ours, theirs) = (child(*schema, key), child(*other, key));
                        b.get(key).is_some_and(|found| Val::of(value, ours).equals(&Val::of(found, theirs)))
                    })
            }
            (Val::List(_) | Val::Array(..), Val::List(_) | Val::Array(..)) => self.equal_lists(other),
            (Val::Map(_) | Val::Object(..), Val::Map(_) | Val::Object(..)) => {
                let (Some(a), Some(b)) = (self.entries(), other.entries()) else { return false };
                a.len() == b.len()
                    && a.iter().all(|(k, v)| b.iter().any(|(k2, v2)| k.equals(k2) && v.equals(v2)))
            }
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (None, None) => true,
                _ => false,
            },
            (Val::Made(a), Val::Made(b)) => a.equals(b),
            (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Quantity(a), Val::Quantity(b)) => a.compare(b) == Ordering::Equal,
            (Val::Semver(a), Val::Semver(b)) => a.compare(b) == Ordering::Equal,
            (Val::Ip(a), Val::Ip(b)) => a == b,
            (Val::Cidr(a), Val::Cidr(b)) => a == b,
            (Val::Url(a), Val::Url(b)) => a == b,
            (Val::Format(a), Val::Format(b)) => a == b,
            _ => false,
        }
    }

    fn equal_lists(&self, other: &Val<'_>) -> bool {
        let (Some(a), Some(b)) = (self.items(), other.items()) else { return false };
        if a.len() != b.len() {
            return false;
        }
        let unordered = [self.list_type().map(|(kind, _)| kind), other.list_type().map(|(kind, _)| kind)];
        if unordered.iter().any(|kind| matches!(kind, Some(ListType::Set | ListType::Map))) {
            return a.iter().all(|item| b.iter().any(|found| item.equals(found)));
        }
        a.iter().zip(&b).all(|(a, b)| a.equals(b))
    }

    /// Evaluates `a + b` of lists: the union of sets, the merge of list maps, otherwise the concatenation.
    pub fn concat(&self, other: &Val<'a>) -> Option<Val<'a>> {
        let (mut items, more) = (self.items()?, other.items()?);
        match self.list_type() {
            Some((ListType::Set, _)) => {
                for item in more {
                    if !items.iter().any(|found| found.equals(&item)) {
                        items.push(item);
                    }
                }
            }
            Some((ListType::Map, schema)) => {
                for item in more {
                    let same = |found: &Val<'a>| {
                        schema.list_map_keys.iter().all(|key| {
                            let key = Val::text(key.clone());
                            match (found.get(&key), item.get(&key)) {
                                (Some(a), Some(b)) => a.equals(&b),
                                (None, None) => true,
                                _ => false,
                            }
                        })
                    };
                    match items.iter().position(same) {
                        Some(at) => items[at] = item,
                        None => items.push(item),
                    }
                }
            }
            _ => items.extend(more),
        }
        Some(Val::list(items))
    }

    /// Compares two values, or returns `None` if they have no order.
    pub fn order(&self, other: &Val<'_>) -> Option<Ordering> {
        match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Text(a), Val::Text(b)) => Some(a.cmp(b)),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
            _ => number_order(self, other),
        }
    }
}

/// Returns whether two lists are the same JSON.
fn same_list(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same(a: &Value, b: &Value) -> bool {
    if work::is_exceeded() {
        return false;
    }
    work::count(1);
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => same_list(a, b),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((key, a), (other, b))| key == other && same(a, b))
        }
        (Value::String(a), Value::String(b)) => {
            work::text(a.len().min(b.len()));
            a == b
        }
        _ => a == b,
    }
}

fn number_order(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b))),
        (Val::Uint(a), Val::Int(b)) => Some(u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        _ => None,
    }
}
