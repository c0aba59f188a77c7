//! Removal of fields that a schema does not specify.

use serde_json::Value;

use super::Schema;
use crate::decode::Problems;

/// Fields that every object has, although its schema does not specify them.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes fields that the schema does not specify. Returns their paths, for example `spec.items[0].foo`, sorted and
/// limited by [`Problems`]. `apiVersion`, `kind` and `metadata` of the object and of embedded resources are left to
/// [`super::coerce`].
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { removed: Problems::default() };
    let mut path = String::new();
    pruner.known(Some(schema), object, &mut path, true);
    let mut removed = pruner.removed.into_paths();
    removed.sort();
    removed
}

/// Removes fields that a schema does not specify from its defaults. Defaults of a valid definition have such fields only below
/// `additionalProperties`, where nobody looks when it is written.
pub fn prune_defaults(schema: &mut Schema) {
    if !schema.has_defaults {
        return;
    }
    if let Some(mut default) = schema.default.take() {
        let mut pruner = Pruner { removed: Problems::default() };
        pruner.known(Some(schema), &mut default, &mut String::new(), false);
        schema.default = Some(default);
    }
    let properties = schema.properties.values_mut();
    let others = schema.additional_properties.iter_mut().chain(schema.items.iter_mut());
    properties.chain(others).for_each(|child| prune_defaults(child));
}

struct Pruner {
    removed: Problems,
}

/// Runs `visit` with `segment` appended to the path.
fn within<R>(path: &mut String, segment: &str, visit: impl FnOnce(&mut String) -> R) -> R {
    let length = path.len();
    if length > 0 && !segment.starts_with('[') {
        path.push('.');
    }
    path.push_str(segment);
    let result = visit(path);
    path.truncate(length);
    result
}

impl Pruner {
    fn remove(&mut self, path: &mut String, key: &str) {
        self.removed.note(|| within(path, key, |path| path.clone()));
    }

    fn known(&mut self, schema: Option<&Schema>, value: &mut Value, path: &mut String, root: bool) {
        let Some(schema) = schema else { return self.unknown(value, path) };
        if schema.preserve_unknown_fields {
            return self.preserved(schema, value, path, root);
        }
        match value {
            Value::Object(map) => {
                let resource = root || schema.embedded_resource;
                map.retain(|key, value| {
                    if resource && META_FIELDS.contains(&key.as_str()) {
                        return true;
                    }
                    let child = schema.child(key);
                    match child {
                        Some(child) => {
                            within(path, key, |path| self.known(Some(child), value, path, false));
                            true
                        }
                        None => {
                            self.remove(path, key);
                            false
                        }
                    }
                });
            }
            Value::Array(list) => {
                for (i, item) in list.iter_mut().enumerate() {
                    within(path, &format!("[{i}]"), |path| {
                        self.known(schema.items.as_deref(), item, path, false);
                    });
                }
            }
            _ => {}
        }
    }

    fn unknown(&mut self, value: &mut Value, path: &mut String) {
        match value {
            Value::Object(map) => {
                for key in map.keys() {
                    self.remove(path, key);
                }
                map.clear();
            }
            Value::Array(list) => {
                for (i, item) in list.iter_mut().enumerate() {
                    within(path, &format!("[{i}]"), |path| self.unknown(item, path));
                }
            }
            _ => {}
        }
    }

    /// Prunes only the specified parts below `x-kubernetes-preserve-unknown-fields`.
    fn preserved(&mut self, schema: &Schema, value: &mut Value, path: &mut String, root: bool) {
        match value {
            Value::Object(map) => {
                let resource = root || schema.embedded_resource;
                for (key, value) in map.iter_mut() {
                    if resource && META_FIELDS.contains(&key.as_str()) {
                        continue;
                    }
                    let child = schema.child(key);
                    if let Some(child) = child {
                        within(path, key, |path| self.known(Some(child), value, path, false));
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return };
                for (i, item) in list.iter_mut().enumerate() {
                    within(path, &format!("[{i}]"), |path| self.preserved(items, item, path, false));
                }
            }
            _ => {}
        }
    }
}
