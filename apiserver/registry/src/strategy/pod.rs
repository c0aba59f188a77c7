//! Pods and their templates: defaults that depend on other fields, and what kube-apiserver checks first.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Map, Value, json};

use super::default::{invalid, required};
use super::known::{NONE, Rules};
use super::{container, pod_part, pod_update, scheduling, volume};

/// `v1.Pod`
pub(super) const POD: Rules = Rules {
    normalize: |pod| {
        pod_addresses(pod);
        let Some(spec) = pod.get_mut("spec") else { return };
        for container in containers_mut(spec) {
            requests(container);
        }
        default_spec(spec);
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("enableServiceLinks").or_insert(true.into());
        }
    },
    prepare: |pod| {
        let quality = quality(&pod["spec"]);
        pod["status"] = json!({"phase": "Pending", "qosClass": quality});
        gate(pod);
        prioritize(&mut pod["spec"]);
        tolerate(&mut pod["spec"]);
    },
    prepare_update: |pod, old| {
        for field in ["priority", "preemptionPolicy"] {
            if pod["spec"][field].is_null()
                && let (Some(spec), Some(before)) = (pod["spec"].as_object_mut(), old["spec"].get(field))
            {
                spec.insert(field.to_owned(), before.clone());
            }
        }
        tolerate(&mut pod["spec"]);
    },
    validate: |pod| validate_spec(&pod["spec"], "spec"),
    validate_new: |pod| {
        let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        let placed = pod["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
        let why = "cannot be set until all schedulingGates have been cleared";
        let mut errors = Vec::new();
        if gated && placed {
            errors.push(super::default::forbidden("spec.nodeName", why));
        }
        if pod["spec"]["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
            errors.push(super::default::forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        errors
    },
    prepare_part: pod_part::prepare,
    validate_part: pod_part::validate,
    immutable: pod_update::kept,
};

/// The first of `podIPs` and `podIP` are the same address.
fn pod_addresses(pod: &mut Value) {
    let Some(status) = pod.get_mut("status").and_then(Value::as_object_mut) else { return };
    let given = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let first = given(status.get("podIPs").and_then(|list| list.get(0)).and_then(|one| one.get("ip")));
    match (given(status.get("podIP")), first) {
        (Some(address), None) => {
            status.insert("podIPs".into(), json!([{"ip": address}]));
        }
        (Some(address), Some(first)) if address != first => {
            status.insert("podIPs".into(), json!([{"ip": address}]));
        }
        _ => {}
    }
}

/// A pod with gates says why it is not placed.
fn gate(pod: &mut Value) {
    if pod["spec"]["schedulingGates"].as_array().is_none_or(Vec::is_empty) {
        return;
    }
    pod["status"]["conditions"] = json!([{
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
        "lastTransitionTime": pod["metadata"]["creationTimestamp"],
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }]);
}

/// For so many seconds a deleted pod stays: those asked for, else its own, and none where nothing runs.
pub(super) fn grace_period(pod: &Value, asked: Option<i64>) -> i64 {
    let idle = pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty)
        || matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let period = asked.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(0);
    match period {
        _ if idle => 0,
        period if period < 0 => 1,
        period => period,
    }
}

/// `v1.PodTemplate`
pub(super) const POD_TEMPLATE: Rules = Rules {
    normalize: |object| default_template(&mut object["template"]),
    validate: |object| validate_spec(&object["template"]["spec"], "template.spec"),
    ..NONE
};

/// The classes that every cluster has, and their priorities.
const CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// A pod without a class has the priority 0.
fn prioritize(spec: &mut Value) {
    let class = spec["priorityClassName"].as_str().unwrap_or_default();
    let priority = match CLASSES.iter().find(|(name, _)| *name == class) {
        Some((_, priority)) => *priority,
        None if class.is_empty() => 0,
        // What others are worth is not looked up: nothing here schedules.
        None => return,
    };
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("priority".into(), priority.into());
        spec.entry("preemptionPolicy").or_insert_with(|| "PreemptLowerPriority".into());
    }
}

/// For this long a pod stays on a node that is not ready or cannot be reached.
const TOLERATION_SECONDS: i64 = 300;

fn tolerate(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if !tolerations.is_array() {
            *tolerations = json!([]);
        }
        let Some(list) = tolerations.as_array_mut() else { return };
        let matches =
            |field: &Value, wanted: &str| field.as_str().is_none_or(|text| text.is_empty() || text == wanted);
        let tolerated =
            list.iter().any(|one| matches(&one["key"], key) && matches(&one["effect"], "NoExecute"));
        if !tolerated {
            list.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn containers_mut(spec: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = spec.as_object_mut().into_iter().flat_map(Map::iter_mut);
    let lists = lists.filter(|(name, _)| CONTAINERS.contains(&name.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten()
}

/// Defaults of a pod template.
pub(super) fn default_template(template: &mut Value) {
    if let Some(spec) = template.get_mut("spec") {
        default_spec(spec);
    }
}

fn default_spec(spec: &mut Value) {
    let host_network = spec["hostNetwork"] == true;
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    for container in containers_mut(spec) {
        let Some(container) = container.as_object_mut() else { continue };
        if !container.contains_key("imagePullPolicy") {
            let policy = pull_policy(container.get("image").and_then(Value::as_str).unwrap_or_default());
            container.insert("imagePullPolicy".into(), policy.into());
        }
        let ports = container.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter(|_| host_network) {
            if port["hostPort"].is_null() {
                port["hostPort"] = port["containerPort"].clone();
            }
        }
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(volume) = volume.as_object_mut().filter(|volume| volume.keys().eq(["name"])) else {
            continue;
        };
        volume.insert("emptyDir".into(), json!({}));
    }
    // The older name of the field shows what the newer one says.
    let Some(spec) = spec.as_object_mut() else { return };
    let account =
        ["serviceAccountName", "serviceAccount"].into_iter().find_map(|name| spec.get(name).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".into(), account.clone());
        spec.insert("serviceAccount".into(), account);
    }
}

/// Images that may change are pulled each time.
fn pull_policy(image: &str) -> &'static str {
    let (image, digest) = image.split_once('@').map_or((image, false), |(image, _)| (image, true));
    let name = image.rsplit('/').next().unwrap_or_default();
    let tag = name.split_once(':').map_or("latest", |(_, tag)| tag);
    if tag == "latest" && !digest { "Always" } else { "IfNotPresent" }
}

/// What a container of a pod is limited to, it asks for.
fn requests(container: &mut Value) {
    let limits = container["resources"]["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if container["resources"]["requests"][&name].is_null() {
            container["resources"]["requests"][&name] = limit;
        }
    }
}

/// `BestEffort` without any requests and limits, `Guaranteed` where all containers limit both to what they ask for.
pub(super) fn quality(spec: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    let containers = ["initContainers", "containers"].into_iter();
    for container in containers.flat_map(|list| spec[list].as_array().into_iter().flatten()) {
        for resource in ["cpu", "memory"] {
            let (request, limit) =
                (&container["resources"]["requests"][resource], &container["resources"]["limits"][resource]);
            any |= !request.is_null() || !limit.is_null();
            guaranteed &= !limit.is_null() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// What is wrong with a pod's spec at `path`.
pub(super) fn validate_spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let list = |name: &str| spec[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut volumes = BTreeSet::new();
    for (index, volume) in list("volumes").iter().enumerate() {
        let name = volume["name"].as_str().unwrap_or_default();
        check_name(name, &format!("{path}.volumes[{index}].name"), &mut volumes, &mut errors);
        volume::check(volume, &format!("{path}.volumes[{index}]"), &mut errors);
    }
    if list("containers").is_empty() {
        errors.push(required(format!("{path}.containers"), ""));
    }
    let mut seen = BTreeSet::new();
    for group in ["initContainers", "containers"] {
        for (index, container) in list(group).iter().enumerate() {
            let path = format!("{path}.{group}[{index}]");
            check_name(name_of(container), &format!("{path}.name"), &mut seen, &mut errors);
            container::check(container, &path, &volumes, &mut errors);
        }
    }
    if path == "spec" {
        pod_part::check_ephemeral(spec, &volumes, &mut errors);
    }
    scheduling::check(spec, path, &mut errors);
    errors
}

fn name_of(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

pub(super) fn check_name(name: &str, path: &str, seen: &mut BTreeSet<String>, errors: &mut Vec<FieldError>) {
    // A missing name is found by the structure.
    if name.is_empty() {
        return;
    }
    errors.extend(names::dns1123_label(name).into_iter().map(|why| invalid(path, name, why)));
    if !seen.insert(name.to_owned()) {
        errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &name.into(), ""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_policies() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.2", "IfNotPresent"),
            ("host:5000/nginx", "Always"),
            ("host:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:ab", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
