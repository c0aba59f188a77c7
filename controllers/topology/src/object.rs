//! Fields of objects whose kinds are not known here.

use std::collections::BTreeMap;

use engine::NamespacedName;
use serde_json::{Map, Value};

use crate::names;

/// Labels or annotations.
pub(crate) type Texts = BTreeMap<String, String>;

/// Returns the value at a path; `None` if it is absent.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

/// Returns the text at a path; empty if it is absent or no text.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Sets the value at a path, and makes the objects above it.
///
/// # Errors
/// Says which value above it is no object.
pub(crate) fn set(object: &mut Value, path: &[&str], value: Value) -> Result<(), String> {
    let mut place = object;
    for (index, name) in path.iter().enumerate() {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(fields) = place else {
            let above = if index == 0 { "the object".to_owned() } else { path[..index].join(".") };
            return Err(format!("{} cannot be set: {above} is not an object", path.join(".")));
        };
        place = fields.entry(*name).or_insert(Value::Null);
    }
    *place = value;
    Ok(())
}

/// Removes the value at a path, if it is there.
pub(crate) fn remove(object: &mut Value, path: &[&str]) {
    let Some((last, above)) = path.split_last() else { return };
    let parent = above.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(Value::Object(fields)) = parent {
        fields.remove(*last);
    }
}

/// Returns the labels or annotations at a path. Values that are no text are left out.
pub(crate) fn texts(object: &Value, path: &[&str]) -> Texts {
    let fields = at(object, path).and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Sets the labels or annotations at a path; none are absent.
///
/// # Errors
/// Says which value above them is no object.
pub(crate) fn set_texts(object: &mut Value, path: &[&str], texts: Texts) -> Result<(), String> {
    if texts.is_empty() {
        remove(object, path);
        return Ok(());
    }
    set(object, path, texts.into_iter().map(|(name, value)| (name, Value::from(value))).collect())
}

/// Returns the name of an object.
pub(crate) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// Returns the kind of an object.
pub(crate) fn kind(object: &Value) -> &str {
    text(object, &["kind"])
}

/// Returns `apiVersion` and `kind` of an object.
pub(crate) fn version_and_kind(object: &Value) -> (&str, &str) {
    (text(object, &["apiVersion"]), kind(object))
}

/// Returns namespace and name of an object.
pub(crate) fn key(object: &Value) -> NamespacedName {
    NamespacedName::new(text(object, &["metadata", "namespace"]), name(object))
}

/// Returns the API group of an object; empty for the core group.
pub(crate) fn group(object: &Value) -> &str {
    text(object, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group)
}

/// Returns `KIND NAMESPACE/NAME` of an object, for messages.
pub(crate) fn described(object: &Value) -> String {
    format!("{} {}/{}", kind(object), text(object, &["metadata", "namespace"]), name(object))
}

/// Returns a reference of Cluster API's contract v1beta2 to an object.
pub(crate) fn reference(object: &Value) -> Value {
    serde_json::json!({ "apiGroup": group(object), "kind": kind(object), "name": name(object) })
}

/// Removes annotations that are never copied.
pub(crate) fn without_bookkeeping(mut annotations: Texts) -> Texts {
    annotations.remove(names::LAST_APPLIED);
    annotations.remove(names::CONVERSION_DATA);
    annotations
}

/// Merges labels or annotations; those of `first` win.
pub(crate) fn merged(first: &Texts, second: &Texts) -> Texts {
    let mut merged = second.clone();
    merged.extend(first.iter().map(|(name, value)| (name.clone(), value.clone())));
    merged
}
