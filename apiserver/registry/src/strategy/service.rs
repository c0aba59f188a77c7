//! Services. No addresses are given out: nothing here carries their traffic.

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::{Value, json};

use super::default::{invalid, required};
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
    match spec["type"].as_str() {
        Some("ExternalName") if spec["externalName"].as_str().is_none_or(str::is_empty) => {
            errors.push(required("spec.externalName", ""));
        }
        Some("ExternalName") => {}
        _ if ports.is_empty() && !headless => errors.push(required("spec.ports", "")),
        _ => {}
    }
    let mut names = std::collections::BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{index}]");
        let name = port["name"].as_str().unwrap_or_default();
        if name.is_empty() && ports.len() > 1 {
            errors.push(required(format!("{path}.name"), ""));
        } else if !name.is_empty() {
            let problems = machinery::names::dns1123_label(name);
            errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.name"), name, why)));
            if !names.insert(name) {
                errors.push(FieldError::new(
                    FieldErrorKind::Duplicate,
                    format!("{path}.name"),
                    &name.into(),
                    "",
                ));
            }
        }
        let number = port["port"].as_i64().unwrap_or(0);
        if !(1..=65535).contains(&number) {
            let why = "must be between 1 and 65535, inclusive";
            errors.push(invalid(format!("{path}.port"), number, why));
        }
    }
    errors
}
