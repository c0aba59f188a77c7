//! Defaults, and nulls that the schema does not allow.

use serde_json::Value;

use super::Schema;

fn forbidden_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}

/// Fills in defaults. A null in a field that is not nullable counts as absent. Nested defaults only appear if their
/// parent exists or has a default itself.
///
/// A short list can get a long default for each of its items, so what a stranger has written goes through
/// [`default_within`].
pub fn default(schema: &Schema, value: &mut Value) {
    Filling { left: None }.fill(schema, value);
}

/// Like [`default`], for the value or the schema of a stranger: the bytes of the defaults are taken off `left`. Returns whether
/// there were enough; if not, the value is only partly filled.
#[must_use]
pub fn default_within(schema: &Schema, value: &mut Value, left: &mut usize) -> bool {
    let mut filling = Filling { left: Some(*left) };
    filling.fill(schema, value);
    *left = filling.left.unwrap_or_default();
    *left > 0
}

/// The bytes of defaults that may still be filled in; `None` without a limit.
struct Filling {
    left: Option<usize>,
}

impl Filling {
    fn fill(&mut self, schema: &Schema, value: &mut Value) {
        if !schema.has_defaults {
            return;
        }
        match value {
            Value::Object(map) => {
                for (name, property) in &schema.properties {
                    let Some(wanted) = &property.default else { continue };
                    if map.get(name).is_none_or(|found| forbidden_null(found, property)) {
                        let Some(wanted) = self.copy(name.len(), wanted) else { return };
                        map.insert(name.clone(), wanted);
                    }
                }
                for (name, value) in map.iter_mut() {
                    match (schema.properties.get(name), schema.additional_properties.as_deref()) {
                        (Some(property), _) => self.fill(property, value),
                        (None, Some(additional)) => self.replace_null(additional, value),
                        (None, None) => {}
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return };
                list.iter_mut().for_each(|item| self.replace_null(items, item));
            }
            _ => {}
        }
    }

    fn replace_null(&mut self, schema: &Schema, value: &mut Value) {
        if let Some(wanted) = schema.default.as_ref().filter(|_| forbidden_null(value, schema)) {
            let Some(wanted) = self.copy(0, wanted) else { return };
            *value = wanted;
        }
        self.fill(schema, value);
    }

    /// Copies a default; `None` once there is too much of them.
    fn copy(&mut self, name: usize, wanted: &Value) -> Option<Value> {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(name + json_bytes(wanted));
            if *left == 0 {
                return None;
            }
        }
        Some(wanted.clone())
    }
}

/// Returns about as many bytes as the JSON of a value has.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(|item| json_bytes(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(name, item)| name.len() + json_bytes(item) + 4).sum::<usize>() + 2
        }
        Value::String(text) => text.len() + 2,
        _ => 8,
    }
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
