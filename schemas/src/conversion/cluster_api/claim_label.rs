//! The name of an IPAddressClaim's Cluster, which is a label in `v1alpha1`.

use serde_json::{Map, Value, json};

use super::super::path::{at, put};

const LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// `"false"` if the object did not have the label before it was converted to `v1alpha1`.
const WAS_SET: &str = "conversion.cluster.x-k8s.io/cluster-name-label-set";

/// Sets `spec.clusterName` to the label. Removes the label again if only the conversion to `v1alpha1` had added it.
pub fn up(metadata: &mut Value, claim: &mut Value) {
    let label = metadata.pointer("/labels").and_then(|labels| labels.get(LABEL)).cloned();
    match label {
        Some(name) => put(claim, "/spec/clusterName", name),
        None => {
            at(claim, "/spec").and_then(Value::as_object_mut).map(|spec| spec.remove("clusterName"));
        }
    }
    let was_set = remove(metadata, "annotations", WAS_SET);
    if was_set.is_some_and(|was_set| was_set == "false") {
        remove(metadata, "labels", LABEL);
    }
}

/// Sets the label to the name of the Cluster, which the caller has before its removal from the spec.
pub fn down(metadata: &mut Value, name: &str) {
    if metadata.pointer("/labels").and_then(|labels| labels.get(LABEL)).is_none() {
        insert(metadata, "annotations", WAS_SET, "false");
    }
    insert(metadata, "labels", LABEL, name);
}

fn remove(metadata: &mut Value, map: &str, name: &str) -> Option<Value> {
    let entries = metadata.get_mut(map)?.as_object_mut()?;
    let removed = entries.remove(name);
    if entries.is_empty() {
        metadata.as_object_mut()?.remove(map);
    }
    removed
}

fn insert(metadata: &mut Value, map: &str, name: &str, value: &str) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    let entries = metadata.entry(map).or_insert(Value::Null);
    if entries.is_null() {
        *entries = Value::Object(Map::new());
    }
    if let Some(entries) = entries.as_object_mut() {
        entries.insert(name.to_owned(), json!(value));
    }
}
