//! Services.

use std::collections::{BTreeSet, HashSet};

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

use super::{addresses, allocation, ingress};
use crate::fields::{forbidden, invalid, required};
use crate::strategy::rules::{Allocation, NONE, Rules};

/// `v1.Service`.
pub(crate) const SERVICE: Rules = Rules {
    check_name: machinery::names::dns1123_label,
    normalize,
    validate,
    prepare: addresses::complete,
    allocation: Some(Allocation { claims: allocation::claims, take: allocation::allocate }),
    prepare_update: |service, old| {
        addresses::complete_update(service, old);
        forget(service, old);
        forget_ports(service, old);
    },
    immutable: |service, old| {
        let mut errors = addresses::kept(&service["spec"], &old["spec"]);
        errors.extend(ingress::balancers(&service["status"], &service["spec"]));
        errors
    },
    status: Some(|service, _| ingress::balancers(&service["status"], &service["spec"])),
    ..NONE
};

/// Removes fields that only the old type supports, unless the client changed them.
fn forget(service: &mut Value, old: &Value) {
    let (now, before) = (&service["spec"], &old["spec"]);
    let outside = |spec: &Value| {
        matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
            || spec["type"] == "ClusterIP"
                && spec["externalIPs"].as_array().is_some_and(|list| !list.is_empty())
    };
    let same = |field: &str| now[field] == before[field];
    let mut gone: Vec<&str> = Vec::new();
    if before["type"] == "LoadBalancer" && now["type"] != "LoadBalancer" {
        let fields = ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"];
        gone.extend(fields.into_iter().filter(|field| same(field)));
    }
    if outside(before) && !outside(now) && same("externalTrafficPolicy") {
        gone.push("externalTrafficPolicy");
    }
    if let Some(spec) = service["spec"].as_object_mut() {
        spec.retain(|field, _| !gone.contains(&field.as_str()));
    }
}

/// Removes node ports, load balancer status and internal traffic policy that the new type does not support, unless the
/// client changed them.
fn forget_ports(service: &mut Value, old: &Value) {
    let has_ports =
        |service: &Value| matches!(service["spec"]["type"].as_str(), Some("NodePort" | "LoadBalancer"));
    if has_ports(old) && !has_ports(service) {
        let before: Vec<i64> = old["spec"]["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|port| port["nodePort"].as_i64())
            .collect();
        for port in service["spec"].get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let same = port["nodePort"].as_i64().is_some_and(|number| before.contains(&number));
            if let Some(port) = port.as_object_mut().filter(|_| same) {
                port.remove("nodePort");
            }
        }
    }
    if service["spec"]["type"] != "LoadBalancer"
        && old["spec"]["type"] == "LoadBalancer"
        && service["status"].get("loadBalancer") == old["status"].get("loadBalancer")
    {
        service["status"]["loadBalancer"] = json!({});
    }
    if service["spec"]["type"] == "ExternalName"
        && let Some(spec) = service["spec"].as_object_mut()
        && spec.get("internalTrafficPolicy") == old["spec"].get("internalTrafficPolicy")
    {
        spec.remove("internalTrafficPolicy");
    }
}

fn normalize(service: &mut Value) {
    let balanced = service["spec"]["type"] == "LoadBalancer";
    let ingress = service.pointer_mut("/status/loadBalancer/ingress").and_then(Value::as_array_mut);
    for one in ingress.into_iter().flatten().filter(|_| balanced) {
        if one["ip"].as_str().is_some_and(|address| !address.is_empty()) && one["ipMode"].is_null() {
            one["ipMode"] = "VIP".into();
        }
    }
    let Some(spec) = service["spec"].as_object_mut() else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        // Zero and the empty string count as missing.
        if port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = port["port"].clone();
        }
    }
    let outside = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let mut entry = |name: &str, value: Value| {
        spec.entry(name).or_insert(value);
    };
    if kind != "ExternalName" {
        entry("internalTrafficPolicy", "Cluster".into());
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && outside) {
        entry("externalTrafficPolicy", "Cluster".into());
    }
    if kind == "LoadBalancer" {
        entry("allocateLoadBalancerNodePorts", true.into());
    }
    if spec.get("sessionAffinity").is_some_and(|affinity| affinity == "None") {
        spec.remove("sessionAffinityConfig");
    }
    if spec.get("sessionAffinity").is_some_and(|affinity| affinity == "ClientIP") {
        let config = spec.entry("sessionAffinityConfig").or_insert_with(|| json!({}));
        if config["clientIP"]["timeoutSeconds"].is_null() {
            config["clientIP"]["timeoutSeconds"] = 10_800.into();
        }
    }
}

fn validate(service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = addresses::validate(spec);
    // kube-apiserver validates the addresses first and stops at their errors.
    if !errors.is_empty() && spec["type"] != "ExternalName" {
        return errors;
    }
    addresses::special(&spec["externalIPs"], &mut errors);
    let headless = spec["clusterIP"] == "None";
    let kind = spec["type"].as_str().unwrap_or_default();
    match kind {
        "ExternalName" if spec["externalName"].as_str().is_none_or(str::is_empty) => {
            errors.push(required("spec.externalName", ""));
        }
        "ExternalName" => {
            let name = spec["externalName"].as_str().unwrap_or_default();
            let problems = machinery::names::dns1123_subdomain(name.strip_suffix('.').unwrap_or(name));
            errors.extend(problems.into_iter().map(|why| invalid("spec.externalName", name, why)));
        }
        _ if ports.is_empty() && !headless => errors.push(required("spec.ports", "")),
        _ => {}
    }
    let mut names = BTreeSet::new();
    let mut node_ports = HashSet::new();
    let mut seen = HashSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        check_port(port, &path, ports.len() > 1, &mut names, &mut errors);
        let node_port = port["nodePort"].as_i64().unwrap_or(0);
        if node_port != 0 && kind == "ClusterIP" {
            errors.push(forbidden(format!("{path}.nodePort"), "may not be used when `type` is 'ClusterIP'"));
        }
        if !node_ports.insert((&port["protocol"], node_port)) && node_port != 0 {
            errors.push(FieldError::new(
                FieldErrorKind::Duplicate,
                format!("{path}.nodePort"),
                &node_port.into(),
                "",
            ));
        }
        let key = [&port["protocol"], &port["port"]];
        if !seen.insert(key) {
            let mut error = FieldError::new(FieldErrorKind::Duplicate, path, &Value::Null, "");
            error.value = Some(format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                key[0], key[1]
            ));
            errors.push(error);
        }
    }
    balanced(spec, kind, &mut errors);
    errors
}

fn check_port<'v>(
    port: &'v Value,
    path: &str,
    several: bool,
    names: &mut BTreeSet<&'v str>,
    errors: &mut Vec<FieldError>,
) {
    let name = port["name"].as_str().unwrap_or_default();
    if name.is_empty() && several {
        errors.push(required(format!("{path}.name"), ""));
    } else if !name.is_empty() {
        let problems = machinery::names::dns1123_label(name);
        errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
        if !names.insert(name) {
            let field = format!("{path}.name");
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &name.into(), ""));
        }
    }
    let number = port["port"].as_i64().unwrap_or(0);
    if !(1..=65535).contains(&number) {
        errors.push(invalid(format!("{path}.port"), number, "must be between 1 and 65535, inclusive"));
    }
}

/// Refuses fields that need a load balancer or external access if the type does not have it.
fn balanced(spec: &Value, kind: &str, errors: &mut Vec<FieldError>) {
    let is_set = |field: &str| !spec[field].is_null();
    let balanced = kind == "LoadBalancer";
    for (field, shown) in [
        ("allocateLoadBalancerNodePorts", "spec.allocateLoadBalancerNodePorts"),
        ("loadBalancerClass", "spec.loadBalancerClass"),
        ("loadBalancerSourceRanges", "spec.LoadBalancerSourceRanges"),
    ] {
        let some = is_set(field) && spec[field].as_array().is_none_or(|list| !list.is_empty());
        if some && !balanced {
            errors.push(forbidden(shown, "may only be used when `type` is 'LoadBalancer'"));
        }
    }
    for (index, range) in spec["loadBalancerSourceRanges"].as_array().into_iter().flatten().enumerate() {
        let range = range.as_str().unwrap_or_default();
        if let Some(why) = crate::types::cidr_problem(range.trim()).filter(|_| balanced) {
            errors.push(invalid(format!("spec.LoadBalancerSourceRanges[{index}]"), range, why));
        }
    }
    let distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if let Some(chosen) = spec["trafficDistribution"].as_str().filter(|one| !distributions.contains(one)) {
        let allowed = distributions.map(Value::from);
        errors.push(FieldError::not_supported("spec.trafficDistribution", &chosen.into(), &allowed));
    }
    let outside = spec["externalIPs"].as_array().is_some_and(|list| !list.is_empty());
    let reachable = matches!(kind, "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && outside);
    let policy = &spec["externalTrafficPolicy"];
    if policy.as_str().is_some_and(|text| !text.is_empty()) && !reachable {
        let why = "may only be set for externally-accessible services";
        errors.push(invalid("spec.externalTrafficPolicy", policy.clone(), why));
    }
    let health = spec["healthCheckNodePort"].as_i64().unwrap_or(0);
    if health != 0 && !(balanced && policy == "Local") {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(invalid("spec.healthCheckNodePort", health, why));
    }
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if let Some(seconds) = seconds.as_i64().filter(|seconds| !(1..=86_400).contains(seconds)) {
        let why = "must be greater than 0 and less than 86400";
        errors.push(invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why));
    }
}
