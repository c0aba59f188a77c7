//! Defaults, and nulls that the schema does not allow.

use serde_json::Value;

use super::Schema;

fn forbidden_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}

/// Fills in defaults. A null in a field that is not nullable counts as absent. Nested defaults only appear if their
/// parent exists or has a default itself.
pub fn default(schema: &Schema, value: &mut Value) {
    if !schema.has_defaults {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(wanted) = &property.default else { continue };
                if map.get(name).is_none_or(|found| forbidden_null(found, property)) {
                    map.insert(name.clone(), wanted.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                match (schema.properties.get(name), schema.additional_properties.as_deref()) {
                    (Some(property), _) => default(property, value),
                    (None, Some(additional)) => replace_null(additional, value),
                    (None, None) => {}
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref() else { return };
            list.iter_mut().for_each(|item| replace_null(items, item));
        }
        _ => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if let Some(wanted) = schema.default.as_ref().filter(|_| forbidden_null(value, schema)) {
        *value = wanted.clone();
    }
    default(schema, value);
}

/// Removes nulls from fields that are neither nullable nor have a default, as kube-apiserver does with requests.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let child = schema.child(name);
            let Some(child) = child else { return true };
            if forbidden_null(value, child) && child.default.is_none() {
                return false;
            }
            drop_nulls(child, value);
            true
        }),
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref() else { return };
            list.iter_mut().for_each(|item| drop_nulls(items, item));
        }
        _ => {}
    }
}
