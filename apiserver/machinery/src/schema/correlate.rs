//! Which part of an old object a part of the new one continues, and whether it changed.

use std::cell::LazyCell;
use std::collections::HashMap;

use serde_json::Value;

use super::lists::keys;
use super::number::same;
use super::{ListType, Schema};

/// The items of an old list, found by what continues them: by key in a map, else nothing does.
pub(crate) struct Before<'a>(HashMap<String, &'a Value>);

impl<'a> Before<'a> {
    /// Of the list `old`.
    pub(crate) fn new(schema: &Schema, old: Option<&'a Vec<Value>>) -> Self {
        let mut items = HashMap::new();
        if schema.list_type == Some(ListType::Map) {
            for item in old.into_iter().flatten() {
                if let Some(keys) = identity(schema, item) {
                    items.entry(keys).or_insert(item);
                }
            }
        }
        Self(items)
    }

    /// The item that `item` of the new list continues.
    pub(crate) fn of(&self, schema: &Schema, item: &Value) -> Option<&'a Value> {
        if self.0.is_empty() { None } else { self.0.get(&identity(schema, item)?).copied() }
    }
}

fn identity(schema: &Schema, item: &Value) -> Option<String> {
    keys(schema, item).map(|keys| Value::Object(keys).to_string())
}

/// Whether an update leaves a value as it was, in the sense of kube-apiserver's `CorrelatedObject`: the items of a map are
/// compared with those of the same key, wherever they stand, and an object with a field that its schema does not name (but
/// preserves) has always changed.
pub(crate) fn unchanged(schema: &Schema, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(before), Value::Array(after)) => {
            let keyed = schema.list_type == Some(ListType::Map);
            let by_key = LazyCell::new(|| Before::new(schema, Some(before)));
            before.len() == after.len()
                && after.iter().enumerate().all(|(i, item)| match &schema.items {
                    // By place first: items that have no key, or share one, continue nothing else.
                    Some(items) if keyed => {
                        unchanged(items, &before[i], item)
                            || by_key.of(schema, item).is_some_and(|old| {
                                !std::ptr::eq(old, &before[i]) && unchanged(items, old, item)
                            })
                    }
                    _ => same(&before[i], item),
                })
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && after.iter().all(|(key, value)| {
                    let old = before.get(key);
                    schema.child(key).zip(old).is_some_and(|(child, old)| unchanged(child, old, value))
                })
        }
        _ => same(old, new),
    }
}
