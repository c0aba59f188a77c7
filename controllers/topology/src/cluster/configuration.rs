//! Apply configurations: the part of a desired object that a topology decides about.

use serde_json::{Map, Value};

/// The field manager of all objects of a topology.
pub const FIELD_MANAGER: &str = "capi-topology";
/// Annotation of dry runs: admission then skips the checks that fields do not change.
const DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";

/// Returns the configuration of `desired`. With the UID of an object that exists, an apply does not bring it back once it is deleted.
pub fn of(desired: &Value, current: Option<&Value>) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        if let Some(value) = desired["metadata"].get(field).filter(|value| !value.is_null()) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(uid) = current.and_then(|current| current["metadata"].get("uid")) {
        metadata.insert("uid".to_owned(), uid.clone());
    }
    let mut configuration = Map::new();
    for field in ["apiVersion", "kind", "spec"] {
        if let Some(value) = desired.get(field).filter(|value| !value.is_null()) {
            configuration.insert(field.to_owned(), value.clone());
        }
    }
    configuration.insert("metadata".to_owned(), Value::Object(metadata));
    Value::Object(configuration)
}

/// Returns the configuration for a dry run.
pub fn for_dry_run(configuration: &Value) -> Value {
    let mut configuration = configuration.clone();
    configuration["metadata"]["annotations"][DRY_RUN] = "".into();
    configuration
}

/// Returns why an object cannot become `desired` by an apply; `None` if it can. The group and kind of the infrastructure and of the control
/// plane never change.
pub fn incompatible(current: &Value, desired: &Value) -> Option<String> {
    let name = |object: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let group = text(&object["apiVersion"]);
        let group = group.split_once('/').map_or("", |(group, _)| group);
        format!("{}.{group} {}", text(&object["kind"]), text(&object["metadata"]["namespace"]))
    };
    let (before, after) = (name(current), name(desired));
    (before != after).then(|| {
        let object = current["metadata"]["name"].as_str().unwrap_or_default();
        format!("{object} is a {before} (kind, group, namespace), and the class makes it a {after}: this cannot change")
    })
}
