//! What the other version cannot express: kept whole in an annotation of the converted object.
//!
//! The annotation of an object in one version is the object in the other version without its metadata, as JSON.

use machinery::meta;
use serde_json::{Map, Value};

/// The annotation. Cluster API's webhooks use it in `v1beta1` objects, with the same content.
pub const ANNOTATION: &str = "cluster.x-k8s.io/conversion-data";

/// Removes the annotation and returns the object in it. Returns `None` if there is none, or if it is not an object in
/// `version`: a client can write anything there. Upstream's has no `apiVersion`, and is always in the stored version.
pub fn take(metadata: &mut Value, group: &str, version: &str) -> Option<Value> {
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let text = annotations.remove(ANNOTATION)?;
    if annotations.is_empty() {
        metadata.as_object_mut()?.remove("annotations");
    }
    let mut kept: Value = serde_json::from_str(text.as_str()?).ok()?;
    let fields = kept.as_object_mut()?;
    fields.remove("metadata");
    let wanted = format!("{group}/{version}");
    if version == super::STORED {
        fields.entry("apiVersion").or_insert_with(|| wanted.clone().into());
    }
    (meta::api_version(&kept) == wanted).then_some(kept)
}

/// Adds the annotation with the text of an object, which has no metadata.
pub fn put(metadata: &mut Option<Value>, text: String) {
    let metadata = metadata.get_or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(ANNOTATION.into(), text.into());
    }
}
