//! Which part of an old object a part of the new one continues, and whether it changed.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use super::equality::same;
use super::lists::identity;
use super::{ListType, Schema};

/// The list before an update, whose items those of the new one continue.
pub struct OldItems<'a> {
    schema: &'a Schema,
    items: &'a [Value],
    /// By their keys; the first of those that share them.
    by_keys: OnceCell<HashMap<String, &'a Value>>,
}

impl<'a> OldItems<'a> {
    /// Of a list of this schema; `None` for no list.
    pub fn new(schema: &'a Schema, old: Option<&'a Vec<Value>>) -> Self {
        Self { schema, items: old.map_or(&[], Vec::as_slice), by_keys: OnceCell::new() }
    }

    /// The item that an item of the new list continues: by key in a map, else none.
    pub fn of(&self, item: &Value) -> Option<&'a Value> {
        if self.schema.list_type != Some(ListType::Map) || self.items.is_empty() {
            return None;
        }
        let by_keys = self.by_keys.get_or_init(|| {
            let keyed = self.items.iter().rev();
            keyed.filter_map(|item| Some((identity(self.schema, item)?, item))).collect()
        });
        by_keys.get(&identity(self.schema, item)?).copied()
    }
}

/// Whether an update leaves a value as it was, in the sense of kube-apiserver's `CorrelatedObject`: the items of a map are
/// compared with those of the same key, wherever they stand, and an object with a field that its schema does not name (but
/// preserves) has always changed.
pub fn unchanged(schema: &Schema, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(before), Value::Array(after)) => {
            let keyed = schema.list_type == Some(ListType::Map);
            let correlated = OldItems::new(schema, Some(before));
            before.len() == after.len()
                && after.iter().enumerate().all(|(i, item)| match &schema.items {
                    // By place first: items that have no key, or share one, continue nothing else.
                    Some(items) if keyed => {
                        unchanged(items, &before[i], item)
                            || correlated.of(item).is_some_and(|old| {
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
