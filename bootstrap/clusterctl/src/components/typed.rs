//! Gives objects the form that they have after a Go program has read them into its types and written them again: fields without
//! `omitempty` appear. Scripts that compare manifests depend on this.

use serde_json::{Map, Value, json};

/// Sets the field to `default` if it is missing.
fn present(value: &mut Value, path: &[&str], default: Value) {
    let mut place = value;
    for (index, name) in path.iter().enumerate() {
        let Some(fields) = place.as_object_mut() else { return };
        let last = index + 1 == path.len();
        let missing = if last { default.clone() } else { Value::Object(Map::new()) };
        place = fields.entry(*name).or_insert(missing);
    }
}

/// Adds the fields of a Deployment or DaemonSet.
pub(super) fn workload(object: &mut Value) {
    let deployment = object["kind"] == "Deployment";
    present(object, &["metadata"], json!({}));
    present(object, &["spec", "selector"], Value::Null);
    present(object, &["spec", "template", "metadata"], json!({}));
    present(object, &["spec", "template", "spec", "containers"], Value::Null);
    for field in ["containers", "initContainers"] {
        let containers = object["spec"]["template"]["spec"].get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            present(container, &["resources"], json!({}));
        }
    }
    if deployment {
        present(object, &["spec", "strategy"], json!({}));
        present(object, &["status"], json!({}));
        return;
    }
    present(object, &["spec", "updateStrategy"], json!({}));
    for counter in ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"] {
        present(object, &["status", counter], 0.into());
    }
}

/// Adds the fields of a CustomResourceDefinition.
pub(super) fn definition(object: &mut Value) {
    present(object, &["status", "acceptedNames", "kind"], "".into());
    present(object, &["status", "acceptedNames", "plural"], "".into());
    present(object, &["status", "conditions"], Value::Null);
    present(object, &["status", "storedVersions"], Value::Null);
}
