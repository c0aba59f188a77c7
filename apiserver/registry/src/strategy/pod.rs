//! Pods and their templates: defaults that depend on other fields, and what kube-apiserver checks first.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use machinery::{names, quantity};
use serde_json::{Map, Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};
use super::{container, pod_update, resources, scheduling, security, volume};

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
        scheduling::merge_label_keys(pod);
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
        if pod["spec"]["ephemeralContainers"].as_array().is_some_and(|list| !list.is_empty()) {
            errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
        }
        if gated && placed {
            errors.push(forbidden("spec.nodeName", why));
        }
        errors
    },
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
    let (path, tag) = name.split_once(':').unwrap_or((name, "latest"));
    // What cannot be read has no tag.
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let readable = !path.is_empty() && path.bytes().all(good) && !image.contains(char::is_whitespace);
    if !readable {
        return "IfNotPresent";
    }
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
fn quality(spec: &Value) -> &'static str {
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
    let mut seen = BTreeSet::new();
    let mut volumes = BTreeMap::new();
    for (index, volume) in list("volumes").iter().enumerate() {
        let name = name_of(volume);
        check_name(name, &format!("{path}.volumes[{index}].name"), &mut seen, &mut errors);
        volume::check(volume, &format!("{path}.volumes[{index}]"), &mut errors);
        volumes.entry(name.to_owned()).or_insert(volume);
    }
    let claims = list("resourceClaims");
    claimed(claims, &format!("{path}.resourceClaims"), &mut errors);
    let claims = claims.iter().map(name_of).filter(|name| !name.is_empty()).collect();
    let pod = container::Pod { spec, volumes, claims };
    if list("containers").is_empty() {
        errors.push(required(format!("{path}.containers"), ""));
    }
    let mut seen = BTreeSet::new();
    for group in ["containers", "initContainers"] {
        for (index, container) in list(group).iter().enumerate() {
            let path = format!("{path}.{group}[{index}]");
            check_name(name_of(container), &format!("{path}.name"), &mut seen, &mut errors);
            container::check(container, &path, &pod, group == "initContainers", &mut errors);
        }
    }
    container::host_ports(list("containers"), &format!("{path}.containers"), &mut errors);
    for one in list("initContainers") {
        let path = format!("{path}.initContainers");
        container::host_ports(std::slice::from_ref(one), &path, &mut errors);
    }
    pod_resources(spec, path, &pod.claims, &mut errors);
    on_host_network(spec, path, &mut errors);
    security::of_pod(spec, path, &mut errors);
    names_of_host(spec, path, &mut errors);
    scheduling::check(spec, path, &mut errors);
    references(spec, path, &mut errors);
    errors
}

/// The claims to devices of a pod.
fn claimed(claims: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, claim) in claims.iter().enumerate() {
        let path = format!("{path}[{index}]");
        check_name(name_of(claim), &format!("{path}.name"), &mut seen, errors);
        let given = ["resourceClaimName", "resourceClaimTemplateName"];
        let count = given.iter().filter(|field| !claim[**field].is_null()).count();
        let why = match count {
            0 => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            1 => "",
            _ => "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
        };
        if !why.is_empty() {
            errors.push(security::internal(path.clone(), "core.PodResourceClaim", claim, why));
        }
        for field in given {
            subdomain(&claim[field], &format!("{path}.{field}"), errors);
        }
    }
}

fn subdomain(name: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(name) = name.as_str() {
        errors.extend(names::dns1123_subdomain(name).into_iter().map(|why| invalid(path, name, why)));
    }
}

/// What a pod asks for as a whole, which is at least what its containers ask for.
fn pod_resources(spec: &Value, path: &str, claims: &BTreeSet<&str>, errors: &mut Vec<FieldError>) {
    let whole = &spec["resources"];
    if !whole.is_object() {
        return;
    }
    let path = format!("{path}.resources");
    if whole["claims"].as_array().is_some_and(|claims| !claims.is_empty()) {
        let why = "claims may not be set for Resources at pod-level";
        errors.push(forbidden(format!("{path}.claims"), why));
    }
    resources::check(whole, &path, resources::Of::Pod, claims, errors);
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = |amount: &Value| amount.as_str().and_then(quantity::nanos);
    for (name, asked) in whole["requests"].as_object().into_iter().flatten() {
        let parts = containers.iter().filter_map(|one| value(&one["resources"]["requests"][name]));
        let (sum, Some(asked_nanos)) = (parts.sum::<i128>(), value(asked)) else { continue };
        if sum > asked_nanos {
            let shown = quantity::canonical(&format!("{sum}n")).unwrap_or_default();
            let why = format!("must be greater than or equal to aggregate container requests of {shown}");
            errors.push(invalid(format!("{path}.requests[{name}]"), asked.clone(), why));
        }
    }
    for (index, container) in containers.iter().enumerate() {
        for (name, limit) in container["resources"]["limits"].as_object().into_iter().flatten() {
            let most = &whole["limits"][name];
            if let (Some(own), Some(all)) = (value(limit), value(most))
                && own > all
            {
                let shown = most.as_str().unwrap_or_default();
                let why = format!("must be less than or equal to pod limits of {shown}");
                errors.push(invalid(format!("{path}.containers[{index}][{name}].limits"), limit.clone(), why));
            }
        }
    }
}

/// On the network of the host a port is a port of the host.
fn on_host_network(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (index, container) in spec["containers"].as_array().into_iter().flatten().enumerate() {
        for (at, port) in container["ports"].as_array().into_iter().flatten().enumerate() {
            let host = port["hostPort"].as_i64().unwrap_or(0);
            if host != 0 && port["containerPort"] != host {
                let field = format!("{path}.containers[{index}].ports[{at}].hostPort");
                errors.push(invalid(field, host, "must match `containerPort` when `hostNetwork` is true"));
            }
        }
    }
}

/// More of these the resolver of a host does not read.
const NAME_SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCHES_LENGTH_MAX: usize = 2048;

/// How a pod is called, and how it finds others by name.
fn names_of_host(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let config = &spec["dnsConfig"];
    let at = format!("{path}.dnsConfig");
    let list = |name: &str| config[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let (servers, searches) = (list("nameservers"), list("searches"));
    if spec["dnsPolicy"] == "None" && !config.is_object() {
        errors.push(required(at.clone(), "must provide `dnsConfig` when `dnsPolicy` is None"));
    } else if spec["dnsPolicy"] == "None" && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(required(format!("{at}.nameservers"), why));
    }
    if servers.len() > NAME_SERVERS_MAX {
        let why = format!("must not have more than {NAME_SERVERS_MAX} nameservers");
        errors.push(invalid(format!("{at}.nameservers"), servers.to_vec(), why));
    }
    if searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        errors.push(invalid(format!("{at}.searches"), searches.to_vec(), why));
    }
    let texts: Vec<&str> = searches.iter().filter_map(Value::as_str).collect();
    if texts.join(" ").len() > SEARCHES_LENGTH_MAX {
        let why = format!(
            "must not have more than {SEARCHES_LENGTH_MAX} characters (including spaces) in the search list"
        );
        errors.push(invalid(format!("{at}.searches"), searches.to_vec(), why));
    }
    for (index, search) in texts.into_iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let problems = names::dns1123_subdomain_with_underscore(search);
        let at = format!("{at}.searches[{index}]");
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), search, why)));
    }
    for (index, option) in list("options").iter().enumerate() {
        if name_of(option).is_empty() {
            errors.push(required(format!("{at}.options[{index}]"), "must not be empty"));
        }
    }
    let at = format!("{path}.hostnameOverride");
    if spec["hostnameOverride"].is_null() {
        return;
    }
    for (field, shown) in [("setHostnameAsFQDN", "setHostnameAsFQDN"), ("hostNetwork", "hostNetwork")] {
        if spec[field] == true {
            errors.push(forbidden(at.clone(), format!("may not be specified when {shown} is true")));
        }
    }
    subdomain(&spec["hostnameOverride"], &at, errors);
}

/// Names of other objects, and what depends on the operating system.
fn references(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for field in ["nodeName", "priorityClassName", "runtimeClassName"] {
        let empty = field != "runtimeClassName" && spec[field] == "";
        if !empty {
            subdomain(&spec[field], &format!("{path}.{field}"), errors);
        }
    }
    for (name, amount) in spec["overhead"].as_object().into_iter().flatten() {
        let at = format!("{path}.overhead[{name}]");
        errors.extend(resources::name(name, &at));
        errors.extend(resources::amount(name, amount, &at));
    }
    let gates = spec["schedulingGates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for (index, gate) in gates.iter().enumerate() {
        let (name, at) = (name_of(gate), format!("{path}.schedulingGates[{index}]"));
        errors.extend(names::qualified_name(name).into_iter().map(|why| invalid(at.clone(), name, why)));
        if !seen.insert(name) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, at, &name.into(), ""));
        }
    }
    match spec["os"].get("name").and_then(Value::as_str) {
        Some("linux") if spec["securityContext"]["windowsOptions"].is_object() => {
            let why = "windows options cannot be set for a linux pod";
            errors.push(forbidden(format!("{path}.securityContext.windowsOptions"), why));
        }
        Some("" | "linux" | "windows") | None => {}
        Some(other) => {
            let allowed = ["linux", "windows"].map(Value::from);
            errors.push(FieldError::not_supported(format!("{path}.os"), &other.into(), &allowed));
        }
    }
}

fn name_of(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}

fn check_name(name: &str, path: &str, seen: &mut BTreeSet<String>, errors: &mut Vec<FieldError>) {
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
            ("", "IfNotPresent"),
            (" nginx", "IfNotPresent"),
            ("Nginx", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
