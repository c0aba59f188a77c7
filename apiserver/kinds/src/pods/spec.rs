//! Validation of the spec of a pod or of a pod template, as kube-apiserver does it.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use machinery::{names, quantity};
use serde_json::Value;

use super::containers::{container, ports};
use super::names::{check_name, name_of};
use super::volumes::volume;
use super::{ephemeral, requests, resources, scheduling, security};
use crate::fields::{self, forbidden, invalid, required};

/// Validates the pod spec at `path`.
pub(crate) fn validate_spec(spec: &Value, path: &str) -> Vec<FieldError> {
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
    if path == "spec" {
        ephemeral::check_ephemeral(&pod, &mut errors);
    }
    ports::host_ports(list("containers"), &format!("{path}.containers"), &mut errors);
    for one in list("initContainers") {
        let path = format!("{path}.initContainers");
        ports::host_ports(std::slice::from_ref(one), &path, &mut errors);
    }
    pod_resources(spec, path, &pod.claims, &mut errors);
    on_host_network(spec, path, &mut errors);
    security::of_pod(spec, path, &mut errors);
    names_of_host(spec, path, &mut errors);
    scheduling::check(spec, path, &mut errors);
    references(spec, path, &mut errors);
    errors
}

/// Validates the resource claims of a pod.
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
            errors.push(fields::internal(path.clone(), "core.PodResourceClaim", claim, why));
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

/// Validates pod-level resources, which must cover the requests and limits of the containers.
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
    let sums = requests::sums(spec);
    for (name, asked) in whole["requests"].as_object().into_iter().flatten() {
        let (Some(sum), Some(asked_nanos)) = (sums.get(name).copied(), value(asked)) else { continue };
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
                errors.push(invalid(
                    format!("{path}.containers[{index}][{name}].limits"),
                    limit.clone(),
                    why,
                ));
            }
        }
    }
}

/// Requires that `hostPort` equals `containerPort` in a pod on the host network.
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

/// Limits of the resolver configuration: name servers, search paths, and total characters of the search paths.
const NAME_SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCHES_LENGTH_MAX: usize = 2048;

/// Validates `dnsConfig`, `dnsPolicy` and `hostnameOverride`.
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

/// Validates references to other objects, overhead, scheduling gates and the operating system.
fn references(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for field in ["nodeName", "priorityClassName", "runtimeClassName"] {
        let empty = field != "runtimeClassName" && spec[field] == "";
        if !empty {
            subdomain(&spec[field], &format!("{path}.{field}"), errors);
        }
    }
    for (name, amount) in spec["overhead"].as_object().into_iter().flatten() {
        let at = format!("{path}.overhead.limits[{name}]");
        errors.extend(resources::of_container(name, &at));
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
        Some("windows") => windows(spec, path, errors),
        Some("linux") => {}
        Some("") => errors.push(required(format!("{path}.os.name"), "")),
        None if spec["os"].is_object() => errors.push(required(format!("{path}.os.name"), "")),
        None => {}
        Some(other) => {
            let allowed = ["linux", "windows"].map(Value::from);
            errors.push(FieldError::not_supported(format!("{path}.os"), &other.into(), &allowed));
        }
    }
}

/// Refuses fields that only Linux pods may set.
fn windows(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const OF_CONTEXT: [&str; 11] = [
        "appArmorProfile",
        "seLinuxOptions",
        "hostUsers",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
    ];
    let why = "cannot be set for a windows pod";
    for field in OF_CONTEXT {
        let found = if field == "hostUsers" { &spec[field] } else { &spec["securityContext"][field] };
        if !crate::decode::empty(found) {
            errors.push(forbidden(format!("{path}.securityContext.{field}"), why));
        }
    }
    for field in ["hostPID", "hostIPC", "shareProcessNamespace"] {
        if spec[field] == true {
            errors.push(forbidden(format!("{path}.{field}"), why));
        }
    }
}
