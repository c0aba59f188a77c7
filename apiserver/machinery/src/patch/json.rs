//! JSON patch (RFC 6902) with the extensions of `gopkg.in/evanphx/json-patch.v4` that clients rely on: negative
//! indices, and `replace` of a missing member, which adds it.

use serde_json::Value;

use super::pointer::{self, Pointer};
use super::refusal::{go_kind, go_mismatch};
use super::unfit::{Unfit, not_taken, reason};
use crate::limits::{
    MAX_DEPTH, MAX_JSON_PATCH_COPIES, MAX_JSON_PATCH_OPERATIONS, MAX_JSON_PATCH_VALUES, MAX_PATHS_TEXT,
};
use crate::status::Status;

/// Checks the types of the operations like Go's decoder. Returns the errors of strict decoding for unknown fields.
pub fn check_operations(operations: &[Value]) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let Some(fields) = operation.as_object() else {
            if operation.is_null() {
                continue;
            }
            return Err(go_mismatch(operation, "handlers.jsonPatchOp"));
        };
        for (name, value) in fields {
            match name.as_str() {
                "op" | "path" | "from" if !value.is_string() && !value.is_null() => {
                    let found = go_kind(value);
                    return Err(format!(
                        "json: cannot unmarshal {found} into Go struct field jsonPatchOp.{name} of type string"
                    ));
                }
                "op" | "path" | "from" | "value" => {}
                _ => unknown.push(format!("unknown field \"[{index}].{name}\"")),
            }
        }
    }
    Ok(unknown)
}

/// Applies `operations` in order. `written` has the same operations with numbers as written, for `test`. Errors: 413
/// for too many operations, too large copies or an object that becomes too deep; 422 for an operation that does not fit
/// the object.
pub fn apply(mut object: Value, operations: &[Value], written: &[Value]) -> Result<Value, Status> {
    check_count(operations)?;
    let mut growth = Growth::default();
    for (at, operation) in operations.iter().enumerate() {
        growth.check(&object, operation)?;
        let written = written.get(at).unwrap_or(operation);
        // The message of kube-apiserver names neither the operation nor the reason.
        apply_one(&mut object, operation, written).ok_or_else(Status::patch_does_not_fit)?;
    }
    Ok(object)
}

/// Like [`apply`], but the error tells why an operation does not fit.
pub fn apply_or_reason(mut object: Value, operations: &[Value]) -> Result<Value, Unfit> {
    let limited = |status: Status| Unfit::Reason(status.message);
    check_count(operations).map_err(limited)?;
    let mut growth = Growth::default();
    for operation in operations {
        growth.check(&object, operation).map_err(limited)?;
        if let Some(why) = not_taken(&object, operation) {
            return Err(Unfit::Reason(why));
        }
        if apply_one(&mut object, operation, operation).is_none() {
            return Err(reason(&object, operation));
        }
    }
    Ok(object)
}

fn check_count(operations: &[Value]) -> Result<(), Status> {
    if operations.len() > MAX_JSON_PATCH_OPERATIONS {
        return Err(Status::too_large(format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_JSON_PATCH_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    Ok(())
}

/// Counters that limit the growth of an object. Each copy can double an object, so few operations could make it very
/// large or deep. The values that operations read, and the lengths of the paths that they put values under, are
/// counted, too, because each operation could concern the whole object.
#[derive(Default)]
struct Growth {
    copied: usize,
    looked_at: usize,
    paths: usize,
}

impl Growth {
    fn check(&mut self, object: &Value, operation: &Value) -> Result<(), Status> {
        let pointer = |key: &str| operation.get(key).and_then(Value::as_str).and_then(Pointer::parse);
        let op = operation.get("op").and_then(Value::as_str).unwrap_or_default();
        let value = match op {
            "add" | "replace" => operation.get("value"),
            "copy" | "move" => pointer("from").and_then(|from| pointer::get(object, &from).ok()),
            _ => None,
        };
        let (Some(path), Some(value)) = (pointer("path"), value) else { return Ok(()) };
        let (levels, values) = measure(value);
        self.looked_at = self.looked_at.saturating_add(values);
        let long: usize = path.tokens().iter().map(String::len).sum();
        self.paths = self.paths.saturating_add(long.saturating_mul(values));
        if self.looked_at > MAX_JSON_PATCH_VALUES || self.paths > MAX_PATHS_TEXT {
            return Err(Status::too_large(
                "Request entity too large: the operations of the JSON patch change too many values",
            ));
        }
        if path.tokens().len() + levels > MAX_DEPTH {
            return Err(Status::too_large(format!(
                "Request entity too large: the patched object is nested deeper than {MAX_DEPTH} levels"
            )));
        }
        if op == "copy" {
            self.copied += value.to_string().len();
            if self.copied > MAX_JSON_PATCH_COPIES {
                let copied = self.copied;
                return Err(Status::too_large(format!(
                    "Request entity too large: Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                 exceeding the limit {MAX_JSON_PATCH_COPIES}"
                )));
            }
        }
        Ok(())
    }
}

/// Returns the depth of a value and the number of values in it.
fn measure(value: &Value) -> (usize, usize) {
    let add = |(levels, values): (usize, usize), below: &Value| {
        let (deeper, more) = measure(below);
        (levels.max(deeper + 1), values + more)
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 1), add),
        Value::Object(map) => map.values().fold((1, 1), add),
        _ => (0, 1),
    }
}

fn apply_one(object: &mut Value, operation: &Value, written: &Value) -> Option<()> {
    let path = Pointer::parse(operation.get("path")?.as_str()?)?;
    let from = || Pointer::parse(operation.get("from")?.as_str()?);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match operation.get("op")?.as_str()? {
        "add" => add(object, &path, value()),
        "remove" => pointer::remove(object, &path).ok().map(drop),
        // A missing member is added.
        "replace" if matches!(pointer::member(object, &path), Ok(None)) => add(object, &path, value()),
        "replace" => pointer::replace(object, &path, value()).ok(),
        "move" => {
            let value = pointer::remove(object, &from()?).ok()?;
            add(object, &path, value)
        }
        "copy" => {
            let from = from().filter(|from| !from.is_whole())?;
            // A missing member is copied as null.
            let value = pointer::member(object, &from).ok()?.cloned().unwrap_or_default();
            add(object, &path, value)
        }
        "test" => {
            let wanted = written.get("value").unwrap_or(&Value::Null);
            let found = pointer::member(object, &path).ok()?.unwrap_or(&Value::Null);
            (found == wanted).then_some(())
        }
        _ => None,
    }
}

/// Adds a value below the object, which cannot be replaced as a whole.
fn add(object: &mut Value, path: &Pointer, value: Value) -> Option<()> {
    if path.is_whole() {
        return None;
    }
    pointer::add(object, path, value).ok()
}
