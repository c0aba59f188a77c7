//! Services. No addresses are given out: nothing here carries their traffic.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};

/// `v1.Service`
pub(super) const SERVICE: Rules =
    Rules { normalize, validate, prepare: complete, prepare_update: |service, _| complete(service), ..NONE };

/// What the server adds in its own name: the families of addresses, and what a headless Service has for one.
fn complete(service: &mut Value) {
    let Some(spec) = service["spec"].as_object_mut() else { return };
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    // A headless Service has its one "address" in both fields.
    if let Some(address) = spec.get("clusterIP").filter(|address| *address != "").cloned() {
        spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    }
    spec.entry("ipFamilyPolicy").or_insert_with(|| "SingleStack".into());
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
}

fn normalize(service: &mut Value) {
    let Some(spec) = service["spec"].as_object_mut() else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        // Zero and the empty text say nothing.
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
    let mut errors = Vec::new();
    let headless = spec["clusterIP"] == "None";
    let kind = spec["type"].as_str().unwrap_or_default();
    match kind {
        "ExternalName" if spec["externalName"].as_str().is_none_or(str::is_empty) => {
            errors.push(required("spec.externalName", ""));
        }
        "ExternalName" => {}
        _ if ports.is_empty() && !headless => errors.push(required("spec.ports", "")),
        _ => {}
    }
    let mut names = BTreeSet::new();
    let mut node_ports = Vec::new();
    let mut seen: Vec<[&Value; 2]> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        check_port(port, &path, ports.len() > 1, &mut names, &mut errors);
        let node_port = port["nodePort"].as_i64().unwrap_or(0);
        if node_port != 0 && kind == "ClusterIP" {
            errors.push(forbidden(format!("{path}.nodePort"), "may not be used when `type` is 'ClusterIP'"));
        }
        if node_port != 0 && node_ports.contains(&(&port["protocol"], node_port)) {
            errors.push(FieldError::new(
                FieldErrorKind::Duplicate,
                format!("{path}.nodePort"),
                &node_port.into(),
                "",
            ));
        }
        node_ports.push((&port["protocol"], node_port));
        let key = [&port["protocol"], &port["port"]];
        if seen.contains(&key) {
            let mut error = FieldError::new(FieldErrorKind::Duplicate, path, &Value::Null, "");
            error.value = Some(format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                key[0], key[1]
            ));
            errors.push(error);
        }
        seen.push(key);
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

/// What only Services with a load balancer can have, or those that can be reached from outside.
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
