//! Steps that several kinds share.

use serde_json::{Map, Value};

/// The fields of an object.
pub type Fields = Map<String, Value>;

/// Returns the object at `path`, or `None` if there is none.
pub fn at<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Fields> {
    path.iter().try_fold(object, |object, name| object.get_mut(*name))?.as_object_mut()
}

/// Returns the `spec` of the object that a template makes.
pub fn template_spec(template: &mut Value) -> Option<&mut Fields> {
    at(template, &["spec", "template", "spec"])
}

/// Removes the metadata of the object that a template makes, which v1beta1 does not have.
pub fn drop_template_metadata(template: &mut Value) {
    if let Some(template) = at(template, &["spec", "template"]) {
        template.remove("metadata");
    }
}

/// Returns the objects in the list `name`; none if it is absent.
pub fn items<'a>(fields: &'a mut Fields, name: &str) -> impl Iterator<Item = &'a mut Fields> {
    let list = fields.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Gives the field `from` the name `to`.
pub fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.into(), value);
    }
}

/// Makes a list of a map. Each item has the key as its `name`; `item` makes the other fields from the value. The list is
/// sorted by name.
pub fn to_list(fields: &mut Fields, name: &str, item: impl Fn(Value) -> Fields) {
    let Some(Value::Object(map)) = fields.get_mut(name).map(Value::take) else { return };
    let mut entries: Vec<(String, Value)> = map.into_iter().collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let list = entries.into_iter().map(|(name, value)| {
        let mut item = item(value);
        item.insert("name".into(), name.into());
        Value::Object(item)
    });
    fields.insert(name.into(), list.collect());
}

/// Makes a map of a list, by the `name` of its items. `value` makes the value from the other fields.
pub fn to_map(fields: &mut Fields, name: &str, value: impl Fn(Fields) -> Value) {
    let Some(Value::Array(list)) = fields.get_mut(name).map(Value::take) else { return };
    let entries = list.into_iter().filter_map(|item| {
        let Value::Object(mut item) = item else { return None };
        let Some(Value::String(name)) = item.remove("name") else { return None };
        Some((name, value(item)))
    });
    fields.insert(name.into(), Value::Object(entries.collect()));
}

/// Makes a reference by name and namespace of a reference with all fields. Removes it if it names nothing.
pub fn shorten_reference(fields: &mut Fields, name: &str) {
    let Some(reference) = fields.get_mut(name).and_then(Value::as_object_mut) else { return };
    reference.retain(|field, value| {
        matches!(field.as_str(), "name" | "namespace") && value.as_str().is_some_and(|text| !text.is_empty())
    });
    drop_empty(fields, name);
}

/// Removes an object without fields.
pub fn drop_empty(fields: &mut Fields, name: &str) {
    if fields.get(name).and_then(Value::as_object).is_some_and(Fields::is_empty) {
        fields.remove(name);
    }
}
