//! Which part of an old object a part of the new one continues, and whether it changed.

use serde_json::Value;

use super::lists::keys;
use super::number::same;
use super::{ListType, Schema};

/// The item of the old list that an item of the new one continues: by key in a map, else none.
pub(crate) fn correlate<'a>(schema: &Schema, old: Option<&'a Vec<Value>>, item: &Value) -> Option<&'a Value> {
    if schema.list_type != Some(ListType::Map) {
        return None;
    }
    let wanted = keys(schema, item)?;
    old?.iter().find(|before| keys(schema, before).is_some_and(|found| found == wanted))
}

/// Whether an update leaves a value as it was, in the sense of kube-apiserver's `CorrelatedObject`: the items of a map are
/// compared with those of the same key, wherever they stand, and an object with a field that its schema does not name (but
/// preserves) has always changed.
pub(crate) fn unchanged(schema: &Schema, old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Array(before), Value::Array(after)) => {
            let keyed = schema.list_type == Some(ListType::Map);
            before.len() == after.len()
                && after.iter().enumerate().all(|(i, item)| match &schema.items {
                    // By place first: items that have no key, or share one, continue nothing else.
                    Some(items) if keyed => {
                        unchanged(items, &before[i], item)
                            || correlate(schema, Some(before), item).is_some_and(|old| {
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
