//! Merge of later changes into a kept object.

use serde_json::Value;

/// Fields that identify an item of a list, the first that it has.
const IDENTITIES: [&str; 6] = ["name", "key", "id", "type", "network", "path"];

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
            let merged = after.iter().enumerate().map(|(index, item)| merge_item(&kept, before, item, index));
            Value::Array(merged.collect())
        }
        (_, after) => after.clone(),
    }
}

/// Merges the item at `index` with the kept item that has its identity. If the identity is that of several items, or there is none, an
/// unchanged item stays as it was kept.
fn merge_item(kept: &[Value], before: &[Value], after: &Value, index: usize) -> Value {
    let identity = identity(after);
    if let Some(identity) = identity
        && let (Some(kept), Some(before)) = (only(kept, identity), only(before, identity))
    {
        return merge(kept.clone(), before, after);
    }
    let is_unchanged = kept.len() == before.len() && before.get(index) == Some(after);
    let same = kept.get(index).filter(|kept| is_unchanged && self::identity(kept) == identity);
    same.unwrap_or(after).clone()
}

/// Returns the item with an identity, if it is the only one.
fn only<'a>(list: &'a [Value], identity: (&str, &str)) -> Option<&'a Value> {
    let mut same = list.iter().filter(|item| self::identity(item) == Some(identity));
    same.next().filter(|_| same.next().is_none())
}

fn identity(item: &Value) -> Option<(&'static str, &str)> {
    IDENTITIES.iter().find_map(|name| Some((*name, item.get(name)?.as_str()?)))
}
