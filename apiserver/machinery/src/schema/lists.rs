//! Uniqueness of the items of lists with `x-kubernetes-list-type: set` or `map`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ListType, Schema};
use crate::field::{FieldError, FieldErrorKind};
use crate::limits::MAX_FIELD_ERRORS;

/// Reports duplicate items of sets and items of maps with duplicate keys, each once.
pub fn validate_lists(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(schema, object, &mut String::new(), &mut errors);
    errors
}

fn walk(schema: &Schema, value: &Value, path: &mut String, errors: &mut Vec<FieldError>) {
    if !schema.has_lists || errors.len() >= MAX_FIELD_ERRORS {
        return;
    }
    let length = path.len();
    match value {
        Value::Array(list) => {
            duplicates(schema, list, path, errors);
            let Some(items) = schema.items.as_deref() else { return };
            for (i, item) in list.iter().enumerate().filter(|(_, item)| item.is_object() || item.is_array()) {
                path.push_str(&format!("[{i}]"));
                walk(items, item, path, errors);
                path.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(_, value)| value.is_object() || value.is_array()) {
                let child = match (
                    schema.properties.get(key).map(Box::as_ref),
                    schema.additional_properties.as_deref(),
                ) {
                    (Some(child), _) => {
                        if length > 0 {
                            path.push('.');
                        }
                        path.push_str(key);
                        child
                    }
                    (None, Some(child)) => {
                        path.push_str(&format!("[{key}]"));
                        child
                    }
                    (None, None) => continue,
                };
                walk(child, value, path, errors);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn duplicates(schema: &Schema, list: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let identity: fn(&Schema, &Value) -> Option<Value> = match schema.list_type {
        Some(ListType::Set) => |_, item| Some(item.clone()),
        Some(ListType::Map) => |schema, item| keys(schema, item).map(Value::Object),
        Some(ListType::Atomic) | None => return,
    };
    if schema.list_type == Some(ListType::Map)
        && let Some((i, item)) =
            list.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::new(FieldErrorKind::Invalid, format!("{path}[{i}]"), item, detail));
        return;
    }
    let mut seen = BTreeMap::new();
    for (i, item) in list.iter().enumerate() {
        let Some(identity) = identity(schema, item) else { continue };
        let times: &mut u32 = seen.entry(identity.to_string()).or_default();
        *times += 1;
        // An item that occurs more than twice is reported once.
        if *times == 2 {
            let field = format!("{path}[{i}]");
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &identity, ""));
            if errors.len() >= MAX_FIELD_ERRORS {
                return;
            }
        }
    }
}

/// Returns the keys of an item as text, which is equal for items with equal keys.
pub(crate) fn identity(schema: &Schema, item: &Value) -> Option<String> {
    keys(schema, item).map(|keys| Value::Object(keys).to_string())
}

/// Returns the list's map keys that an item has, with their values.
fn keys(schema: &Schema, item: &Value) -> Option<Map<String, Value>> {
    let item = item.as_object()?;
    let mut keys = Map::new();
    for key in &schema.list_map_keys {
        if let Some(value) = item.get(key) {
            keys.insert(key.clone(), value.clone());
        }
    }
    Some(keys)
}
