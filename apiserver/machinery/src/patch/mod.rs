//! The patch formats of the API: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch.
//!
//! Errors are those of `k8s.io/apiserver/pkg/endpoints/handlers/patch.go`.

mod json;
mod lists;
pub mod pointer;
mod refusal;
pub mod shown;
mod strategic;
mod typed;
mod unfit;

use serde_json::{Map, Value};

use self::refusal::go_mismatch;
pub use self::refusal::invalid;
pub use self::unfit::Unfit;
use crate::decode;
use crate::schema::Schema;
use crate::status::Status;

/// The result of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Patched {
    /// The object after the patch.
    pub object: Value,
    /// The errors of strict decoding of the patch itself, in order.
    pub problems: Vec<String>,
}

/// Applies the JSON patch in `body` (JSON text) to `object`.
///
/// Errors: 400 for a malformed patch, 413 for too many operations, 422 for a patch that does not fit the object.
pub fn json_patch(object: &Value, body: &[u8]) -> Result<Patched, Status> {
    let decoded = decode::json(body).map_err(undecodable)?;
    let operations: &[Value] = match &decoded.value {
        Value::Array(operations) => operations,
        Value::Null => &[],
        other => return Err(undecodable(go_mismatch(other, "[]handlers.jsonPatchOp"))),
    };
    let unknown = json::check_operations(operations).map_err(undecodable)?;
    // Decoding converts 1.0 to 1, but `test` distinguishes them.
    let written: Vec<Value> = decode::own(body).unwrap_or_default();
    let object = json::apply(object.clone(), operations, &written)?;
    let problems = decoded.problems.into_iter().chain(unknown);
    let problems = problems.map(|problem| format!("json patch {problem}")).collect();
    Ok(Patched { object, problems })
}

/// Applies the operations of a JSON patch to `object`. Unlike [`json_patch`], it tells why one does not fit.
///
/// # Errors
/// A test that fails, or what does not fit.
pub fn operations(object: &Value, operations: &[Value]) -> Result<Value, Unfit> {
    json::apply_or_reason(object.clone(), operations)
}

/// Applies the merge patch in `body` (JSON text) to `object`.
///
/// Errors: 400 for a malformed patch.
pub fn merge_patch(object: &Value, body: &[u8]) -> Result<Patched, Status> {
    let decoded = decode::json(body).map_err(undecodable)?;
    if decoded.value.is_null() {
        return Err(Status::bad_request("Invalid JSON Patch"));
    }
    if !decoded.value.is_object() {
        return Err(undecodable(go_mismatch(&decoded.value, "map[string]interface {}")));
    }
    let mut object = object.clone();
    merge(&mut object, decoded.value);
    Ok(Patched { object, problems: decoded.problems })
}

/// Applies the strategic merge patch in `body` (JSON text) to `object`, by the merge keys and strategies of `schema`.
///
/// Errors: 400 for a malformed patch, 422 or 500 for one that does not fit the object.
pub fn strategic_merge_patch(object: &Value, body: &[u8], schema: &Schema) -> Result<Patched, Status> {
    let kind = object;
    let decoded = decode::json(body).map_err(|error| Status::bad_request(error.to_string()))?;
    let nothing = Map::new();
    let patch = match &decoded.value {
        Value::Object(patch) => patch,
        Value::Null => &nothing,
        other => return Err(Status::bad_request(go_mismatch(other, "map[string]interface {}"))),
    };
    let mut object = strategic::apply(object, patch, schema)?;
    // A patch cannot change `apiVersion` and `kind`.
    if let (Some(map), Some(before)) = (object.as_object_mut(), kind.as_object()) {
        for name in ["apiVersion", "kind"] {
            map.insert(name.to_owned(), before.get(name).cloned().unwrap_or_default());
        }
    }
    Ok(Patched { object, problems: decoded.problems })
}

/// Returns the 422 for a strategic merge patch whose result is not an object of its kind. Its message contains the
/// patch in Go's format.
pub fn unfit_strategic(body: &[u8], detail: &str) -> Status {
    let patch = decode::json(body).map(|decoded| decoded.value).unwrap_or_default();
    invalid(&crate::go::go_text(&patch), detail)
}

/// Returns the 422 for a patched object that cannot be decoded as its kind. Objects of built-in kinds are shown in Go's
/// field order.
pub fn invalid_result(object: &Value, built_in: bool, detail: &str) -> Status {
    let shown = if built_in { shown::built_in(object) } else { object.to_string() };
    invalid(&shown, detail)
}

/// Merges `patch` into `target` according to RFC 7386.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

fn undecodable(error: impl std::fmt::Display) -> Status {
    Status::bad_request(format!("error decoding patch: {error}"))
}
