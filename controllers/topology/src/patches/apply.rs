//! Changes a template by a patch, and takes over only what patches may change: spec, labels and annotations.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::budget::Budget;
use super::json_patch::{self, Operation};
use super::request::PatchItem;
use crate::limits::{PATCHED_BYTES_MAX, PATCHED_DEPTH_MAX};
use crate::object;
use crate::size::measure;

/// The fields of a template that patches may change.
const FIELDS: [&[&str]; 3] = [&["spec"], &["metadata", "labels"], &["metadata", "annotations"]];

/// Applies the operations of a JSON patch to a template, or leaves it as it is.
///
/// # Errors
/// Says which operation does not fit, or that the template becomes too large.
pub fn json_patch(
    template: &mut Value,
    operations: Vec<Operation>,
    budget: &mut Budget,
) -> Result<(), String> {
    if operations.is_empty() {
        return Ok(());
    }
    let before = measure(template).bytes;
    budget.bytes(before)?;
    let mut patched = template.clone();
    json_patch::apply(&mut patched, operations, budget)?;
    take_over(template, before, patched, budget)
}

/// Applies a patch that an extension made.
///
/// # Errors
/// Says what of the patch cannot be read, or does not fit.
pub fn external(template: &mut Value, item: &PatchItem, budget: &mut Budget) -> Result<(), String> {
    let text =
        STANDARD.decode(&item.patch).map_err(|error| format!("the patch is not in base64: {error}"))?;
    budget.bytes(text.len())?;
    match item.patch_type.as_str() {
        "JSONPatch" => json_patch(template, operations(&text)?, budget),
        "JSONMergePatch" => {
            if text.is_empty() {
                return Ok(());
            }
            let before = measure(template).bytes;
            budget.bytes(before)?;
            let patched = machinery::patch::merge_patch(template, &text);
            let patched = patched.map_err(|status| status.message)?;
            take_over(template, before, patched.object, budget)
        }
        other => Err(format!("patchType must be JSONPatch or JSONMergePatch, not {other:?}")),
    }
}

/// Reads the operations of a JSON patch.
fn operations(text: &[u8]) -> Result<Vec<Operation>, String> {
    let decoded = machinery::decode::json(text).map_err(|error| format!("the patch is no JSON: {error}"))?;
    let list = match decoded.value {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        _ => return Err("a JSON patch must be a list of operations".to_owned()),
    };
    if list.len() > machinery::limits::MAX_JSON_PATCH_OPERATIONS {
        let limit = machinery::limits::MAX_JSON_PATCH_OPERATIONS;
        return Err(format!("the JSON patch has {} operations; there can be {limit}", list.len()));
    }
    let operation = |mut operation: Value| {
        let text = |name| object::text(&operation, &[name]).to_owned();
        let (op, path, from) = (text("op"), text("path"), text("from"));
        let value = operation.get_mut("value").map(Value::take).unwrap_or_default();
        Operation { op, path, from, value }
    };
    Ok(list.into_iter().map(operation).collect())
}

/// Takes over what patches may change of a template with `before` bytes. A field that is gone stays as it was, and an apply of it could not take it away
/// either.
fn take_over(
    template: &mut Value,
    before: usize,
    mut patched: Value,
    budget: &mut Budget,
) -> Result<(), String> {
    let size = measure(&patched);
    budget.bytes(size.bytes)?;
    if size.bytes > PATCHED_BYTES_MAX {
        return Err(format!(
            "the patched template has about {} bytes; there can be {PATCHED_BYTES_MAX}",
            size.bytes
        ));
    }
    if size.levels > PATCHED_DEPTH_MAX {
        return Err(format!("the patched template is nested deeper than {PATCHED_DEPTH_MAX} levels"));
    }
    budget.resize(before, size.bytes)?;
    for path in FIELDS {
        let place = path.iter().try_fold(&mut patched, |value, name| value.get_mut(name));
        if let Some(value) = place.map(Value::take) {
            object::set(template, path, value)?;
        }
    }
    Ok(())
}
