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

/// Whether an update leaves a value as it was. The items of a map are compared with those of the same key,
/// wherever they stand.
pub(crate) fn unchanged(schema: &Schema, old: &Value, new: &Value) -> bool {
    same(old, new) || (schema.has_lists && same_by_key(schema, old, new))
}

fn same_by_key(schema: &Schema, old: &Value, new: &Value) -> bool {
    if !schema.has_lists {
        return same(old, new);
    }
    match (old, new) {
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && after.iter().enumerate().all(|(i, item)| {
                    let items = schema.items.as_deref();
                    match (correlate(schema, Some(before), item), items) {
                        (Some(old), Some(items)) => same_by_key(items, old, item),
                        (None, _) if schema.list_type == Some(ListType::Map) => false,
                        _ => same(&before[i], item),
                    }
                })
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && after.iter().all(|(key, value)| {
                    let child = schema.properties.get(key).or(schema.additional_properties.as_deref());
                    before.get(key).is_some_and(|old| match child {
                        Some(child) => same_by_key(child, old, value),
                        None => same(old, value),
                    })
                })
        }
        _ => same(old, new),
    }
}
