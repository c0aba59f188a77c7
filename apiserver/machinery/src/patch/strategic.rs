//! Strategic merge patch, which merges lists by the keys and strategies of the types of built-in kinds.
//!
//! The semantics are those of `k8s.io/apimachinery/pkg/util/strategicpatch`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::lists::{self, enforce_order};
use super::refusal::invalid;
use super::typed;
use crate::apply::types::OBJECT_META;
use crate::go::{go_text, go_type};
use crate::schema::Schema;
use crate::status::Status;

pub(super) const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList/";

/// Applies `patch` to `object`. Errors: 400 for a malformed patch, 422 for a result that is not an object of the kind,
/// 500 for errors that kube-apiserver does not classify.
pub fn apply(object: &Value, patch: &Map<String, Value>, schema: &Schema) -> Result<Value, Status> {
    let original = object.as_object().cloned().unwrap_or_default();
    let patched = Value::Object(merge_map(original, patch.clone(), Some(schema), true)?);
    if let Err(error) = typed::check(&patched, schema, true) {
        return Err(invalid(&go_text(&Value::Object(patch.clone())), &error));
    }
    Ok(patched)
}

/// Returns the schema of the field `name`.
fn field<'a>(schema: Option<&'a Schema>, name: &str, root: bool) -> Option<&'a Schema> {
    if root && name == "metadata" {
        return Some(&OBJECT_META);
    }
    let schema = schema?;
    schema.child(name)
}

/// Returns the patch strategy of a field other than `retainKeys`.
fn strategy(schema: Option<&Schema>) -> &str {
    let strategies = schema.and_then(|schema| schema.patch_strategy.as_deref()).unwrap_or_default();
    strategies.split(',').find(|strategy| *strategy != "retainKeys").unwrap_or_default()
}

fn merge_key(schema: Option<&Schema>) -> &str {
    schema.and_then(|schema| schema.patch_merge_key.as_deref()).unwrap_or_default()
}

pub(super) fn bad_directive(directive: &Value, patch: &Map<String, Value>) -> Status {
    let patch = go_text(&Value::Object(patch.clone()));
    // This is the output of Go's `%s` for other types.
    let directive = match directive {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => format!("%!s({}={})", go_type(other), go_text(other)),
    };
    Status::generic(format!("unknown patch type: {directive} in map: {patch}"))
}

pub(super) fn merge_map(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: Option<&Schema>,
    root: bool,
) -> Result<Map<String, Value>, Status> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => {
                patch.insert(DIRECTIVE.to_owned(), directive.clone());
                Err(bad_directive(&directive, &patch))
            }
        };
    }
    retain_keys(&mut original, &mut patch)?;
    set_element_order(&mut original, &mut patch, schema, root)?;
    for (key, value) in patch {
        let name = key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST);
        let deleting = name.is_some();
        let name = name.unwrap_or(&key);
        if value.is_null() {
            original.remove(name);
            continue;
        }
        let below = field(schema, name, root);
        let merged = match (original.remove(name), value) {
            (Some(Value::Array(found)), Value::Array(items)) if deleting => {
                Some(Value::Array(lists::without(found, &items)))
            }
            (found, _) if deleting => found,
            (Some(Value::Object(found)), Value::Object(fields)) => merge_field(found, fields, below)?,
            (Some(Value::Array(found)), Value::Array(items)) if strategy(below) == "merge" => {
                Some(Value::Array(lists::merge(found, items, &list(name, below))?))
            }
            // A list that is replaced keeps its directives as fields, which its items do not have.
            (Some(Value::Array(_)), Value::Array(items)) => Some(Value::Array(items)),
            (_, value) => without_directives(value),
        };
        if let Some(merged) = merged {
            original.insert(name.to_owned(), merged);
        }
    }
    Ok(original)
}

fn list<'a>(name: &'a str, schema: Option<&'a Schema>) -> lists::List<'a> {
    let items = schema.and_then(|schema| schema.items.as_deref());
    lists::List { name, items, key: merge_key(schema) }
}

/// Merges a map field. Returns `None` if the patch deletes the map.
fn merge_field(
    found: Map<String, Value>,
    fields: Map<String, Value>,
    schema: Option<&Schema>,
) -> Result<Option<Value>, Status> {
    if strategy(schema) == "replace" {
        return Ok(without_directives(Value::Object(fields)));
    }
    let deleted = fields.get(DIRECTIVE).and_then(Value::as_str) == Some("delete");
    let merged = merge_map(found, fields, schema, false)?;
    Ok((!deleted).then_some(Value::Object(merged)))
}

/// Returns a value that a patch adds, without directives and nulls, or `None` if it asks for deletion.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) => {
            if fields.get(DIRECTIVE).and_then(Value::as_str) == Some("delete") {
                return None;
            }
            let kept = fields.into_iter().filter(|(name, value)| !name.starts_with('$') && !value.is_null());
            let kept = kept.filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => {
            let replaces = |item: &Value| item.as_object().is_some_and(|item| item.contains_key(DIRECTIVE));
            let kept = items.into_iter().filter(|item| !replaces(item));
            Some(Value::Array(kept.filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}

/// Executes `$retainKeys`, which removes all fields that it does not name.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Status> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || Status::bad_request("invalid patch format of retainKeys");
    let keys: HashSet<&str> =
        keys.as_array().ok_or_else(malformed)?.iter().filter_map(Value::as_str).collect();
    let retained = |name: &str| keys.contains(name);
    let stray = patch.iter().any(|(name, value)| {
        let directive = name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
        !value.is_null() && !directive && !retained(name)
    });
    if stray {
        return Err(malformed());
    }
    original.retain(|name, _| retained(name));
    Ok(())
}

/// Executes `$setElementOrder/x`, which merges the list `x` and sorts it.
fn set_element_order(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: Option<&Schema>,
    root: bool,
) -> Result<(), Status> {
    let keys: Vec<String> = patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for key in keys {
        let name = key.trim_start_matches(SET_ELEMENT_ORDER).to_owned();
        let below = field(schema, &name, root);
        let list = list(&name, below);
        let as_list = |value: Option<Value>| match value {
            Some(Value::Array(items)) => Ok(Some(items)),
            None => Ok(None),
            Some(other) => Err(lists::no_list(&other)),
        };
        let order = as_list(patch.remove(&key))?.unwrap_or_default();
        let (found, items) = (as_list(original.remove(&name))?, as_list(patch.remove(&name))?);
        lists::check_order(items.as_deref().unwrap_or_default(), &order, list.key)?;
        let server_order = found.clone().unwrap_or_default();
        let merged = match (found, items) {
            (None, None) => continue,
            (Some(found), None) => found,
            (None, Some(items)) => match without_directives(Value::Array(items)) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (Some(found), Some(items)) if strategy(below) == "merge" => lists::merge(found, items, &list)?,
            (Some(_), Some(items)) => items,
        };
        let ordered = enforce_order(merged, &order, &server_order, list.key);
        original.insert(name, Value::Array(ordered));
    }
    Ok(())
}
