//! Fields of built-in kinds that kube-apiserver drops, because their feature gate is off or they are obsolete.

use serde_json::Value;

/// Returns the JSON pointer to the pod spec in an object of a kind.
fn pod(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Pod" => "/spec",
        "PodTemplate" => "/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "Job" | "ReplicationController" => {
            "/spec/template/spec"
        }
        _ => return None,
    })
}

/// Removes the dropped fields from an object of a kind.
pub(crate) fn forget(kind: &str, object: &mut Value) {
    if let Some(spec) = pod(kind).and_then(|at| object.pointer_mut(at)) {
        of_pod(spec);
    }
    let remove = |object: &mut Value, at: &str, field: &str| {
        if let Some(holder) = object.pointer_mut(at).and_then(Value::as_object_mut) {
            holder.remove(field);
        }
    };
    // An empty list becomes null, as in the stored form of kube-apiserver.
    let without_empty = |object: &mut Value, at: &str| {
        if let Some(list) = object.pointer_mut(at)
            && list.as_array().is_some_and(Vec::is_empty)
        {
            *list = Value::Null;
        }
    };
    match kind {
        "StatefulSet" => remove(object, "/spec/updateStrategy/rollingUpdate", "maxUnavailable"),
        "Node" => remove(object, "/spec", "configSource"),
        "LimitRange" => without_empty(object, "/spec/limits"),
        "Job" => without_empty(object, "/spec/podFailurePolicy/rules"),
        "EndpointSlice" => {
            without_empty(object, "/ports");
            let endpoints = object.get_mut("endpoints").and_then(Value::as_array_mut);
            endpoints.into_iter().flatten().for_each(|one| remove(one, "", "deprecatedTopology"));
        }
        _ => {}
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
