//! Fields of pods that kube-apiserver drops, because their feature gate is off or they are obsolete.

use serde_json::Value;

/// Removes the dropped fields of the pod spec at the JSON pointer `at`.
pub(crate) fn drop_gated(object: &mut Value, at: &str) {
    if let Some(spec) = object.pointer_mut(at) {
        of_pod(spec);
    }
}

fn of_pod(spec: &mut Value) {
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            if let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut)
                && lifecycle.remove("stopSignal").is_some()
                && lifecycle.is_empty()
            {
                container.remove("lifecycle");
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let sources = volume.pointer_mut("/projected/sources").and_then(Value::as_array_mut);
        for source in sources.into_iter().flatten().filter_map(Value::as_object_mut) {
            source.retain(|name, _| !matches!(name.as_str(), "clusterTrustBundle" | "podCertificate"));
        }
    }
}
