//! Correlation of the items of old and new objects, and the decision whether a value has changed.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use super::equality::same;
use super::lists::identity;
use super::{ListType, Schema};

/// The list before an update, with a lookup of its items.
pub struct OldItems<'a> {
    schema: &'a Schema,
    items: &'a [Value],
    /// The items by their keys. Of items with equal keys, the map holds the first.
    by_keys: OnceCell<HashMap<String, &'a Value>>,
}

impl<'a> OldItems<'a> {
    /// Takes the old list of this schema. Without an old list, no item correlates.
    pub fn new(schema: &'a Schema, old: Option<&'a Vec<Value>>) -> Self {
        Self { schema, items: old.map_or(&[], Vec::as_slice), by_keys: OnceCell::new() }
    }

    /// Returns the old item with the same keys as `item` in a list of type `map`, and `None` for other lists.
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

/// Returns whether an update leaves a value unchanged, in the sense of kube-apiserver's `CorrelatedObject`: items of a
/// list map are compared by key regardless of their position, and an object with a field that its schema preserves
/// without naming it always counts as changed.
pub fn unchanged(schema: &Schema, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(before), Value::Array(after)) => {
            let keyed = schema.list_type == Some(ListType::Map);
            let correlated = OldItems::new(schema, Some(before));
            before.len() == after.len()
                && after.iter().enumerate().all(|(i, item)| match &schema.items {
                    // The item at the same index comes first, because items without keys or with equal keys only
                    // correlate by index.
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
