//! Pods and pod templates: defaults that depend on other fields, admission, and the entry points of validation.

use std::collections::BTreeMap;

use machinery::quantity;
use serde_json::{Map, Value, json};

use super::classes::PRIORITIES;
use super::default::forbidden;
use super::known::{NONE, Rules};
use super::pod_spec::validate_spec;
use super::{pod_annotations, pod_part, pod_status, pod_update, scheduling};

/// `v1.Pod`.
pub(super) const POD: Rules = Rules {
    normalize: |pod| {
        pod_addresses(pod);
        pod_annotations::forget(pod);
        let Some(spec) = pod.get_mut("spec") else { return };
        for container in containers_mut(spec) {
            requests(container);
        }
        pod_requests(spec);
        default_spec(spec, true);
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("enableServiceLinks").or_insert(true.into());
        }
    },
    prepare: |pod| {
        pod_annotations::app_armor_fields(pod);
        let quality = quality(&pod["spec"]);
        pod["status"] = json!({"phase": "Pending", "qosClass": quality});
        gate(pod);
        scheduling::merge_label_keys(pod);
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
    validate: |pod| {
        let mut errors = pod_annotations::check(pod);
        errors.extend(validate_spec(&pod["spec"], "spec"));
        tokens(&pod["spec"], &mut errors);
        errors
    },
    validate_new: |pod| {
        let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        let placed = pod["spec"]["nodeName"].as_str().is_some_and(|name| !name.is_empty());
        let why = "cannot be set until all schedulingGates have been cleared";
        let mut errors = Vec::new();
        if pod["spec"]["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
            errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if gated && placed {
            errors.push(forbidden("spec.nodeName", why));
        }
        errors.extend(pod_annotations::app_armor_agrees(pod));
        errors
    },
    prepare_part: pod_part::prepare,
    validate_part: pod_part::validate,
    immutable: |pod, old| {
        let mut errors = pod_annotations::kept(pod, old);
        errors.extend(pod_update::kept(pod, old));
        errors
    },
    status: Some(pod_status::check),
    prepare_status: |pod, old| {
        if crate::decode::empty(&pod["status"]["qosClass"]) {
            pod["status"]["qosClass"] = old["status"]["qosClass"].clone();
        }
        let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        for field in ["deletionTimestamp", "ownerReferences"] {
            match old["metadata"].get(field) {
                Some(value) => drop(metadata.insert(field.into(), value.clone())),
                None => drop(metadata.remove(field)),
            }
        }
    },
};

/// Refuses projected service account tokens in a pod without a service account.
fn tokens(spec: &Value, errors: &mut Vec<machinery::field::FieldError>) {
    if !crate::decode::empty(&spec["serviceAccountName"]) {
        return;
    }
    for (index, volume) in spec["volumes"].as_array().into_iter().flatten().enumerate() {
        for (at, source) in volume["projected"]["sources"].as_array().into_iter().flatten().enumerate() {
            if !source["serviceAccountToken"].is_null() {
                let field = format!("spec.volumes[{index}].projected.sources[{at}].serviceAccountToken");
                errors.push(forbidden(field, "must not be specified when serviceAccountName is not set"));
            }
        }
    }
}

/// Keeps `podIP` and the first item of `podIPs` equal.
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
        (None, Some(first)) => drop(status.insert("podIP".into(), first.into())),
        (Some(address), Some(first)) if address != first => {
            status.insert("podIPs".into(), json!([{"ip": address}]));
        }
        _ => {}
    }
}

/// Sets the `PodScheduled` condition of a new pod with scheduling gates.
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

/// Returns the deletion grace period in seconds: `asked`, or the period of the pod, and 0 if the pod is not scheduled
/// or has finished.
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

/// `v1.PodTemplate`.
pub(super) const POD_TEMPLATE: Rules = Rules {
    normalize: |object| default_template(&mut object["template"]),
    validate: |object| validate_spec(&object["template"]["spec"], "template.spec"),
    ..NONE
};

/// Applies the admission by PriorityClass and RuntimeClass: sets priority, preemption policy and overhead, or returns
/// the refusal.
pub(super) fn admit(pod: &mut Value, find: &super::Find<'_>) -> Result<(), String> {
    let Some(spec) = pod["spec"].as_object_mut() else { return Ok(()) };
    prioritize(spec, find)?;
    let given = spec.get("overhead").filter(|overhead| !crate::decode::empty(overhead)).cloned();
    let Some(name) = spec.get("runtimeClassName").and_then(Value::as_str) else {
        return match given {
            Some(_) => {
                Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                    .into())
            }
            None => Ok(()),
        };
    };
    let Some(class) = find("node.k8s.io", "runtimeclasses", name) else {
        return Err(format!("pod rejected: RuntimeClass \"{name}\" not found"));
    };
    match (given, class["overhead"]["podFixed"].clone()) {
        (Some(_), Value::Null) => {
            Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".into())
        }
        (Some(given), fixed) if given != fixed => {
            Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead".into())
        }
        (None, fixed) if !fixed.is_null() => {
            spec.insert("overhead".into(), fixed);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Sets priority and preemption policy from the PriorityClass. A pod without a class has priority 0.
fn prioritize(spec: &mut Map<String, Value>, find: &super::Find<'_>) -> Result<(), String> {
    const LOWER: &str = "PreemptLowerPriority";
    const WHY: &str = "must not be provided in pod spec; priority admission controller computed";
    let class = spec.get("priorityClassName").and_then(Value::as_str).unwrap_or_default();
    let known = PRIORITIES.iter().find(|(name, _)| *name == class).map(|(_, priority)| *priority);
    let (priority, policy) = match known {
        Some(priority) => (priority, LOWER.to_owned()),
        None if class.is_empty() => (0, LOWER.to_owned()),
        None => {
            let Some(found) = find("scheduling.k8s.io", "priorityclasses", class) else {
                return Err(format!("no PriorityClass with name {class} was found"));
            };
            let policy = found["preemptionPolicy"].as_str().unwrap_or(LOWER).to_owned();
            (found["value"].as_i64().unwrap_or(0), policy)
        }
    };
    let tail = "from the given PriorityClass name";
    if let Some(given) = spec.get("priority").and_then(Value::as_i64).filter(|given| *given != priority) {
        return Err(format!("the integer value of priority ({given}) {WHY} {priority} {tail}"));
    }
    if let Some(given) = spec.get("preemptionPolicy").and_then(Value::as_str).filter(|given| *given != policy)
    {
        return Err(format!("the string value of PreemptionPolicy ({given}) {WHY} {policy} {tail}"));
    }
    spec.insert("priority".into(), priority.into());
    spec.insert("preemptionPolicy".into(), policy.into());
    Ok(())
}

/// The seconds that a pod stays on a node that is not ready or unreachable.
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

/// Applies the defaults of a pod template.
pub(super) fn default_template(template: &mut Value) {
    if let Some(spec) = template.get_mut("spec") {
        default_spec(spec, false);
    }
}

/// Applies the defaults of a pod spec. `is_pod` is false for the spec of a pod template.
fn default_spec(spec: &mut Value, is_pod: bool) {
    let host_network = spec["hostNetwork"] == true && is_pod;
    if is_pod && spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    for container in containers_mut(spec) {
        let Some(container) = container.as_object_mut() else { continue };
        for list in ["limits", "requests"] {
            let amounts = container.get_mut("resources").and_then(|resources| resources.get_mut(list));
            amounts
                .and_then(Value::as_object_mut)
                .into_iter()
                .flatten()
                .for_each(|(_, amount)| whole_milli(amount));
        }
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
        let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) else { continue };
        let policy = pull_policy(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        image.entry("pullPolicy").or_insert_with(|| policy.into());
    }
    for volume in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(volume) = volume.as_object_mut().filter(|volume| volume.keys().eq(["name"])) else {
            continue;
        };
        volume.insert("emptyDir".into(), json!({}));
    }
    // `serviceAccount` is the deprecated alias of `serviceAccountName`.
    let Some(spec) = spec.as_object_mut() else { return };
    let account =
        ["serviceAccountName", "serviceAccount"].into_iter().find_map(|name| spec.get(name).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".into(), account.clone());
        spec.insert("serviceAccount".into(), account);
    }
}

/// Rounds a resource amount up to whole thousandths.
fn whole_milli(amount: &mut Value) {
    let Some(text) = amount.as_str().filter(|text| text.ends_with(['u', 'n'])) else { return };
    let Some(value) = quantity::nanos(text) else { return };
    let milli = value.div_euclid(1_000_000) + i128::from(value.rem_euclid(1_000_000) != 0);
    *amount = quantity::canonical(&format!("{milli}m")).unwrap_or_default().into();
}

/// Returns the default pull policy: `Always` for the tag `latest` or no tag, otherwise `IfNotPresent`.
fn pull_policy(image: &str) -> &'static str {
    let (image, digest) = image.split_once('@').map_or((image, false), |(image, _)| (image, true));
    let name = image.rsplit('/').next().unwrap_or_default();
    let (path, tag) = name.split_once(':').unwrap_or((name, "latest"));
    // An image reference that cannot be parsed counts as one with a fixed tag.
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let readable = !path.is_empty() && path.bytes().all(good) && !image.contains(char::is_whitespace);
    if !readable {
        return "IfNotPresent";
    }
    if tag == "latest" && !digest { "Always" } else { "IfNotPresent" }
}

/// Defaults the requests of a container to its limits.
fn requests(container: &mut Value) {
    let limits = container["resources"]["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if container["resources"]["requests"][&name].is_null() {
            container["resources"]["requests"][&name] = limit;
        }
    }
}

/// Returns the sums of the containers' requests by resource, in units of 10^-9.
pub(super) fn sums(spec: &Value) -> BTreeMap<String, i128> {
    let mut sums = BTreeMap::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        for (name, amount) in container["resources"]["requests"].as_object().into_iter().flatten() {
            let value = amount.as_str().and_then(quantity::nanos).unwrap_or(0);
            let sum: &mut i128 = sums.entry(name.clone()).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    sums
}

/// Defaults the requests of the pod to the sums of its containers' requests, or to its limits if no container requests
/// the resource.
fn pod_requests(spec: &mut Value) {
    let limits = spec["resources"]["limits"].as_object().cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let asked = sums(spec);
    for (name, limit) in limits {
        if !spec["resources"]["requests"][&name].is_null() {
            continue;
        }
        let amount = match asked.get(&name) {
            None => limit,
            Some(sum) => quantity::canonical(&format!("{sum}n")).unwrap_or_default().into(),
        };
        spec["resources"]["requests"][&name] = amount;
    }
}

/// Returns the QoS class: `BestEffort` without any CPU or memory requests and limits, `Guaranteed` if requests equal
/// limits for both in all containers, otherwise `Burstable`. Resources of the pod as a whole take precedence.
pub(super) fn quality(spec: &Value) -> &'static str {
    let whole = &spec["resources"];
    let mut any = false;
    let mut guaranteed = true;
    if whole["requests"].is_object() || whole["limits"].is_object() {
        let both = ["cpu", "memory"].map(|name| (&whole["requests"][name], &whole["limits"][name]));
        let kept = both.iter().all(|(request, limit)| !limit.is_null() && request == limit);
        return if kept { "Guaranteed" } else { "Burstable" };
    }
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
            ("", "IfNotPresent"),
            (" nginx", "IfNotPresent"),
            ("Nginx", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
