//! Fields at JSON pointers. Names in them have no `/` and no `~`.

use serde_json::{Map, Value};

/// Returns the value at `place`.
pub fn at<'a>(object: &'a mut Value, place: &str) -> Option<&'a mut Value> {
    place.split('/').skip(1).try_fold(object, |object, name| object.get_mut(name))
}

/// Returns the items of the list at `place`; none if it is absent.
pub fn items<'a>(object: &'a mut Value, place: &str) -> impl Iterator<Item = &'a mut Value> {
    at(object, place).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Removes the value at `place` and returns it, and removes the objects on the way that have become empty. Null counts as absent.
pub fn take(object: &mut Value, place: &str) -> Option<Value> {
    take_from(object.as_object_mut()?, place.strip_prefix('/')?).filter(|value| !value.is_null())
}

fn take_from(fields: &mut Map<String, Value>, place: &str) -> Option<Value> {
    let Some((first, rest)) = place.split_once('/') else { return fields.remove(place) };
    let inner = fields.get_mut(first)?.as_object_mut()?;
    let taken = take_from(inner, rest)?;
    if inner.is_empty() {
        fields.remove(first);
    }
    Some(taken)
}

/// Sets the value at `place`, and makes the objects on the way.
pub fn put(object: &mut Value, place: &str, value: Value) {
    let mut at = object;
    for name in place.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}
