//! JSON patch (RFC 6902) for templates.
//!
//! It is stricter than the patch of the API (`machinery::patch`): like `evanphx/json-patch` v5, which upstream uses here, `replace` and `remove` of a field that is not there
//! are refused, and so is `add` below one. A negative index counts from the end. Its errors say which operation failed, because it is somebody's class that is wrong.

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
fn test(object: &Value, path: &[String], value: &Value, budget: &mut Budget) -> Result<(), String> {
    let found = match get(object, path) {
        Err(_) if value.is_null() && is_absent_field(object, path) => return Ok(()),
        found => found?,
    };
    budget.bytes(measure(found).bytes)?;
    (found == value).then_some(()).ok_or_else(|| "the value is another one".to_owned())
}

/// Returns whether a path ends in an object that does not have its last token.
fn is_absent_field(object: &Value, path: &[String]) -> bool {
    path.split_last().is_some_and(|(last, above)| {
        let parent = get(object, above).ok().and_then(Value::as_object);
        parent.is_some_and(|fields| !fields.contains_key(last))
    })
}

/// Puts a value into the object, if it does not become too large or too deep. What is put is counted, so that few operations cannot make much work.
fn put(
    object: &mut Value,
    path: &[String],
    value: Value,
    budget: &mut Budget,
    how: fn(&mut Value, &[String], Value) -> Result<(), String>,
) -> Result<(), String> {
    let size = measure(&value);
    budget.bytes(size.bytes)?;
    if path.len() + size.levels > PATCHED_DEPTH_MAX {
        return Err(format!("the template would be nested deeper than {PATCHED_DEPTH_MAX} levels"));
    }
    if size.bytes > PATCHED_BYTES_MAX {
        return Err(format!("the template would be larger than {PATCHED_BYTES_MAX} bytes"));
    }
    how(object, path, value)
}

/// Parses a pointer. The empty one is the whole template.
fn pointer(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let rest = text.strip_prefix('/').ok_or("a path must begin with /")?;
    Ok(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// Returns the position that a token means in a list; `length` is the first position that is none.
fn position(token: &str, length: usize) -> Result<usize, String> {
    let number: i64 = token.parse().map_err(|_| format!("{token:?} is not an index of a list"))?;
    let length_signed = i64::try_from(length).unwrap_or(i64::MAX);
    let position = if number < 0 { number.saturating_add(length_signed) } else { number };
    let position = usize::try_from(position).ok().filter(|position| *position < length);
    position.ok_or_else(|| format!("the list has no index {token}"))
}

fn get<'a>(object: &'a Value, path: &[String]) -> Result<&'a Value, String> {
    path.iter().try_fold(object, |value, token| match value {
        Value::Object(fields) => fields.get(token).ok_or_else(|| not_there(token)),
        Value::Array(items) => Ok(&items[position(token, items.len())?]),
        _ => Err(not_there(token)),
    })
}

fn not_there(token: &str) -> String {
    format!("there is no {token:?}")
}

/// Returns the object or list that a path ends in, and the last token.
fn parent<'a, 'p>(object: &'a mut Value, path: &'p [String]) -> Result<(&'a mut Value, &'p str), String> {
    let (last, above) = path.split_last().ok_or("the path must name a field")?;
    let parent = above.iter().try_fold(object, |value, token| match value {
        Value::Object(fields) => fields.get_mut(token).ok_or_else(|| not_there(token)),
        Value::Array(items) => {
            let position = position(token, items.len())?;
            items.get_mut(position).ok_or_else(|| not_there(token))
        }
        _ => Err(not_there(token)),
    })?;
    Ok((parent, last))
}

fn add(object: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    match parent(object, path)? {
        (Value::Object(fields), name) => drop(fields.insert(name.to_owned(), value)),
        (Value::Array(items), "-") => items.push(value),
        (Value::Array(items), token) => {
            let position = position(token, items.len() + 1)?;
            items.insert(position, value);
        }
        (_, name) => {
            return Err(format!(
                "{name:?} cannot be added: what is above it is neither an object nor a list"
            ));
        }
    }
    Ok(())
}

fn replace(object: &mut Value, path: &[String], value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let place = match parent(object, path)? {
        (Value::Object(fields), name) => fields.get_mut(name).ok_or_else(|| not_there(name))?,
        (Value::Array(items), token) => {
            let position = position(token, items.len())?;
            items.get_mut(position).ok_or_else(|| not_there(token))?
        }
        (_, name) => return Err(not_there(name)),
    };
    *place = value;
    Ok(())
}

fn remove(object: &mut Value, path: &[String]) -> Result<Value, String> {
    match parent(object, path)? {
        (Value::Object(fields), name) => fields.remove(name).ok_or_else(|| not_there(name)),
        (Value::Array(items), token) => {
            let position = position(token, items.len())?;
            Ok(items.remove(position))
        }
        (_, name) => Err(not_there(name)),
    }
}
