//! JSON patch (RFC 6902) for templates.
//!
//! It is stricter than the patch of the API (`machinery::patch`): like `evanphx/json-patch` v5, which upstream uses here, `replace` and `remove` of a field that is not there
//! are refused, and so is `add` below one. A negative index counts from the end. Its errors say which operation failed, because it is somebody's class that is wrong.

use machinery::patch::pointer::{Pointer, add, get, member, remove, replace};
use serde_json::Value;

use super::budget::Budget;
use crate::limits::{PATCHED_BYTES_MAX, PATCHED_DEPTH_MAX};
use crate::size::measure;

/// An operation.
#[derive(Debug, Clone, Default)]
pub struct Operation {
    /// add, replace, remove, move, copy or test.
    pub op: String,
    /// The pointer to the field.
    pub path: String,
    /// The pointer to where `move` and `copy` take the value from.
    pub from: String,
    /// The value of `add`, `replace` and `test`.
    pub value: Value,
}

/// Applies operations in order. After an error the object has been changed by those before.
///
/// # Errors
/// A sentence that says what does not fit.
pub fn apply(object: &mut Value, operations: Vec<Operation>, budget: &mut Budget) -> Result<(), String> {
    for operation in operations {
        let (op, path) = (operation.op.clone(), operation.path.clone());
        one(object, operation, budget).map_err(|message| format!("{op} {path}: {message}"))?;
    }
    Ok(())
}

fn one(object: &mut Value, operation: Operation, budget: &mut Budget) -> Result<(), String> {
    let path = pointer(&operation.path)?;
    match operation.op.as_str() {
        "add" => put(object, &path, operation.value, budget, add),
        "replace" => put(object, &path, operation.value, budget, replace),
        "remove" => remove(object, &path).map(drop),
        "move" => {
            let value = remove(object, &pointer(&operation.from)?)?;
            put(object, &path, value, budget, add)
        }
        "copy" => {
            let value = get(object, &pointer(&operation.from)?)?.clone();
            put(object, &path, value, budget, add)
        }
        "test" => test(object, &path, &operation.value, budget),
        other => Err(format!("{other:?} is not an operation of JSON patch")),
    }
}

/// Compares a value. A field that is not there is null.
fn test(object: &Value, path: &Pointer, value: &Value, budget: &mut Budget) -> Result<(), String> {
    let Some(found) = member(object, path)? else {
        return value.is_null().then_some(()).ok_or_else(|| absent(path));
    };
    budget.bytes(measure(found).bytes)?;
    (found == value).then_some(()).ok_or_else(|| "the value is another one".to_owned())
}

fn absent(path: &Pointer) -> String {
    format!("there is no {:?}", path.tokens().last().map_or("", String::as_str))
}

/// Puts a value into the object, if it does not become too large or too deep. What is put is counted, so that few operations cannot make much work.
fn put(
    object: &mut Value,
    path: &Pointer,
    value: Value,
    budget: &mut Budget,
    how: fn(&mut Value, &Pointer, Value) -> Result<(), String>,
) -> Result<(), String> {
    let size = measure(&value);
    budget.bytes(size.bytes)?;
    if path.tokens().len() + size.levels > PATCHED_DEPTH_MAX {
        return Err(format!("the template would be nested deeper than {PATCHED_DEPTH_MAX} levels"));
    }
    if size.bytes > PATCHED_BYTES_MAX {
        return Err(format!("the template would be larger than {PATCHED_BYTES_MAX} bytes"));
    }
    how(object, path, value)
}

/// Parses a pointer. The empty one is the whole template.
fn pointer(text: &str) -> Result<Pointer, String> {
    let begins = text.is_empty() || text.starts_with('/');
    Pointer::parse(text).filter(|_| begins).ok_or_else(|| "a path must begin with /".to_owned())
}
