//! The merge patch that gives an object of a workload cluster the form of its manifest. Pure.

use engine::patch::merge_difference;
use serde_json::{Map, Value};

/// Lists of metadata that other controllers add to. They are only changed if the manifest has them.
const LISTS: &[&str] = &["finalizers", "ownerReferences"];
/// Maps of metadata that others add to. Only the keys of the manifest are changed.
const MAPS: &[&str] = &["labels", "annotations"];

/// Returns the merge patch that turns `current` into `wanted`; `None` if there is nothing to change. Fields that are only in the current
/// object are removed, and the server sets its defaults again. Its status, and what others have written into its metadata, stay.
pub fn difference(current: &Value, wanted: &Value) -> Option<Value> {
    let (mut from, mut to) = (without_metadata(current), without_metadata(wanted));
    let (before, after) = (&current["metadata"], &wanted["metadata"]);
    let (mut metadata_from, mut metadata_to) = (Map::new(), Map::new());
    for name in LISTS.iter().filter(|name| !after[**name].is_null()) {
        metadata_from.insert((*name).to_owned(), before[*name].clone());
        metadata_to.insert((*name).to_owned(), after[*name].clone());
    }
    for name in MAPS {
        let Some(wanted) = after[*name].as_object() else { continue };
        let known = wanted.keys().filter_map(|key| Some((key.clone(), before[*name].get(key)?.clone())));
        metadata_from.insert((*name).to_owned(), Value::Object(known.collect()));
        metadata_to.insert((*name).to_owned(), Value::Object(wanted.clone()));
    }
    from.insert("metadata".to_owned(), Value::Object(metadata_from));
    to.insert("metadata".to_owned(), Value::Object(metadata_to));
    merge_difference(&Value::Object(from), &Value::Object(to))
}

fn without_metadata(object: &Value) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.remove("metadata");
    fields.remove("status");
    fields
}
