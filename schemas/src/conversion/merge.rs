//! Merge of later changes into a kept object.

use serde_json::Value;

/// Fields that identify an item of a list, the first that it has.
const IDENTITIES: [&str; 5] = ["name", "key", "id", "type", "network"];

/// Applies the changes from `before` to `after` to `kept`. All three are in the same version; `before` is what remained
/// of `kept` after a conversion to another version and back.
pub fn merge(kept: Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return kept;
    }
    match (kept, after) {
        (Value::Object(mut kept), Value::Object(after)) => {
            let names: Vec<String> =
                before.as_object().into_iter().flat_map(|before| before.keys()).cloned().collect();
            for name in names.into_iter().filter(|name| !after.contains_key(name)) {
                kept.remove(&name);
            }
            for (name, after) in after {
                let before = before.get(name).unwrap_or(&Value::Null);
                if before != after {
                    let old = kept.remove(name).unwrap_or(Value::Null);
                    kept.insert(name.clone(), merge(old, before, after));
                }
            }
            Value::Object(kept)
        }
        (Value::Array(kept), Value::Array(after)) => {
            let before = before.as_array().map(Vec::as_slice).unwrap_or_default();
            Value::Array(after.iter().map(|item| merge_item(&kept, before, item)).collect())
        }
        (_, after) => after.clone(),
    }
}

fn merge_item(kept: &[Value], before: &[Value], after: &Value) -> Value {
    let Some(identity) = identity(after) else { return after.clone() };
    let same = |list: &[Value]| list.iter().find(|item| self::identity(item) == Some(identity)).cloned();
    match (same(kept), same(before)) {
        (Some(kept), Some(before)) => merge(kept, &before, after),
        _ => after.clone(),
    }
}

fn identity(item: &Value) -> Option<(&'static str, &str)> {
    IDENTITIES.iter().find_map(|name| Some((*name, item.get(name)?.as_str()?)))
}
