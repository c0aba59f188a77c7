//! The ApplyConfiguration of a mutating policy: it is merged like an applied configuration, but nobody owns its fields.

use serde_json::Value;

use super::merge::merge;
use super::path::{PathElement, display};
use super::types::{Atom, Type};
use super::validate::validate;
use crate::schema::{ListType, Schema};

/// Merges `config` into `live`, both objects of the schema.
///
/// # Errors
/// The message of kube-apiserver: `config` does not match the schema, or sets a part of a value that is merged as one.
pub fn configure(live: &Value, config: &Value, schema: &Schema) -> Result<Value, String> {
    let ty = Type::root(schema);
    validate(config, ty, false)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut atomic = Vec::new();
    find_atomic(config, ty, &mut Vec::new(), &mut atomic);
    if !atomic.is_empty() {
        let places = atomic.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}"
        ));
    }
    validate(live, ty, true)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    merge(live, config, ty).map_err(|why| format!("failed to merge patch: {why}"))
}

/// Collects the places of all values that are merged as one. What is below a field that the schema does not declare is not looked at.
fn find_atomic(value: &Value, ty: Type<'_>, path: &mut Vec<PathElement>, found: &mut Vec<String>) {
    match (value, ty.atom(Some(value))) {
        (Value::Object(fields), Atom::Map(map)) => {
            if map.atomic {
                found.push(display(path));
            }
            for (name, field) in fields {
                if let Some(ty) = map.field(name) {
                    path.push(PathElement::field(name));
                    find_atomic(field, ty, path, found);
                    path.pop();
                }
            }
        }
        (Value::Array(items), Atom::List(list)) => {
            if list.list_type == ListType::Atomic {
                found.push(display(path));
            }
            for (index, item) in items.iter().enumerate() {
                path.push(PathElement::Index(i64::try_from(index).unwrap_or(i64::MAX)));
                find_atomic(item, list.element, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
