//! Path elements of list items.

use serde_json::Value;

use super::path::{PathElement, Scalar};
use super::types::ListAtom;
use crate::schema::ListType;

/// Returns the path element of `item`, which stands at `index` in a list. The error is a message.
pub fn path_element(list: &ListAtom<'_>, index: usize, item: &Value) -> Result<PathElement, String> {
    match list.list_type {
        ListType::Atomic => Ok(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX))),
        ListType::Set => set_element(item),
        ListType::Map => key_element(list, item),
    }
}

fn set_element(item: &Value) -> Result<PathElement, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        _ => Ok(PathElement::Value(Scalar(item.clone()))),
    }
}

fn key_element(list: &ListAtom<'_>, item: &Value) -> Result<PathElement, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut keys: Vec<(String, Scalar)> = list
        .keys
        .iter()
        .filter_map(|key| {
            let value = map.get(key).or_else(|| list.key_default(key))?;
            Some((key.clone(), Scalar(value.clone())))
        })
        .collect();
    if keys.is_empty() {
        let names: Vec<String> = list.keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] \
             (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    keys.sort();
    Ok(PathElement::Key(keys))
}
