//! Why an operation of a JSON patch does not fit, in the words of `gopkg.in/evanphx/json-patch.v4`.

use serde_json::Value;

/// An operation that does not fit the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// A `test` that fails: the object has another value.
    Test,
    /// Anything else, as a message.
    Reason(String),
}

const MISSING: &str = "missing value";
const INVALID_INDEX: &str = "invalid index referenced";

/// Returns why a `move` or `copy` finds nothing in its `from`; `None` for other operations.
pub(super) fn not_taken(object: &Value, operation: &Value) -> Option<String> {
    let op = operation["op"].as_str().filter(|op| matches!(*op, "move" | "copy"))?;
    let Some(from) = operation["from"].as_str() else {
        return Some(format!(
            "{op} operation failed to decode from: operation, missing from field: {MISSING}"
        ));
    };
    let Some((source, key)) = holder(object, from) else {
        return Some(format!("{op} operation does not apply: doc is missing from path: {from}: {MISSING}"));
    };
    let is_there = match source {
        Value::Object(fields) if op == "move" && !fields.contains_key(&key) => Err(not_removed(source, &key)),
        _ => read(source, &key),
    };
    let (place, name) = if op == "move" { ("path", key.as_str()) } else { ("from", from) };
    is_there.err().map(|why| format!("error in {op} for {place}: '{name}': {why}"))
}

/// Returns why `operation`, which failed, does not fit `object`, from which a `move` has taken its value.
pub(super) fn reason(object: &Value, operation: &Value) -> Unfit {
    let text = |name: &str| operation[name].as_str().unwrap_or_default();
    let (op, path) = (text("op"), text("path"));
    let place = holder(object, path);
    Unfit::Reason(match (op, place) {
        ("add", None) => format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}"),
        ("add" | "move", Some((found, key))) => {
            format!("error in {op} for path: '{path}': {}", not_added(found, &key))
        }
        ("remove", None) => {
            format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
        }
        ("remove", Some((found, key))) => {
            format!("error in remove for path: '{path}': {}", not_removed(found, &key))
        }
        ("replace", None) => {
            format!("replace operation does not apply: doc is missing path: {path}: {MISSING}")
        }
        ("replace", Some(_)) => {
            format!("replace operation does not apply: doc is missing key: {path}: {MISSING}")
        }
        ("test", None) if path.is_empty() => return Unfit::Test,
        ("test", None) => format!("test operation does not apply: is missing path: {path}: {MISSING}"),
        ("test", Some((found, key))) => match read(found, &key) {
            Ok(()) => return Unfit::Test,
            Err(why) => format!("error in test for path: '{path}': {why}"),
        },
        ("move" | "copy", None) => {
            format!("{op} operation does not apply: doc is missing destination path: {path}: {MISSING}")
        }
        ("copy", Some((found, key))) => {
            format!("error while adding value during copy: {}", not_added(found, &key))
        }
        (other, _) => format!("Unexpected kind: {other}"),
    })
}

/// Returns the object or list that would contain the value at a path, and its key there.
fn holder<'v>(object: &'v Value, path: &str) -> Option<(&'v Value, String)> {
    let (above, key) = path.rsplit_once('/')?;
    let mut found = object;
    for part in above.split('/').skip(1) {
        let part = unescaped(part);
        found = match found {
            Value::Object(fields) => fields.get(&part)?,
            Value::Array(items) => items.get(index(&part, items.len()).ok()?)?,
            _ => return None,
        };
    }
    matches!(found, Value::Object(_) | Value::Array(_)).then(|| (found, unescaped(key)))
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Returns the place in a list of this length that a key names.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let number: i64 = key.parse().map_err(|_| format!("strconv.Atoi: parsing {key:?}: invalid syntax"))?;
    let place = if number < 0 { number.saturating_add_unsigned(length as u64) } else { number };
    let place = usize::try_from(place).ok().filter(|place| *place < length);
    place.ok_or_else(|| format!("Unable to access invalid index: {number}: {INVALID_INDEX}"))
}

/// Checks that a value can be read; that of a missing field can.
fn read(found: &Value, key: &str) -> Result<(), String> {
    match found {
        Value::Array(items) => index(key, items.len()).map(drop),
        _ => Ok(()),
    }
}

fn not_removed(found: &Value, key: &str) -> String {
    match found {
        Value::Array(items) => index(key, items.len()).err().unwrap_or_default(),
        _ => format!("Unable to remove nonexistent key: {key}: {MISSING}"),
    }
}

fn not_added(found: &Value, key: &str) -> String {
    let length = found.as_array().map_or(0, Vec::len);
    match index(key, length.saturating_add(1)) {
        Err(why) if why.starts_with("strconv") => {
            format!("value was not a proper array index: '{key}': {why}")
        }
        Err(why) => why,
        Ok(_) => MISSING.to_owned(),
    }
}
