//! Network policies and ingresses.

use machinery::field::FieldError;
use serde_json::{Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};

/// `networking.k8s.io/v1` NetworkPolicy
pub(super) const NETWORK_POLICY: Rules = Rules {
    normalize: |policy| {
        let Some(spec) = policy["spec"].as_object_mut() else { return };
        let outwards = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        spec.entry("policyTypes")
            .or_insert_with(|| if outwards { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    },
    validate: |policy| {
        let spec = &policy["spec"];
        let mut errors = Vec::new();
        rules(spec, "ingress", "from", &mut errors);
        rules(spec, "egress", "to", &mut errors);
        if list(spec, "policyTypes").len() > 2 {
            let why = "may not specify more than two policyTypes";
            errors.push(invalid("spec.policyTypes", spec["policyTypes"].clone(), why));
        }
        errors
    },
    ..NONE
};

/// `networking.k8s.io/v1` Ingress
pub(super) const INGRESS: Rules = Rules { validate: ingress, ..NONE };

/// `networking.k8s.io/v1` IngressClass
pub(super) const INGRESS_CLASS: Rules = Rules { validate: ingress_class, ..NONE };

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn rules(spec: &Value, direction: &str, peers: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in list(spec, direction).iter().enumerate() {
        let path = format!("spec.{direction}[{index}]");
        for (index, port) in list(rule, "ports").iter().enumerate() {
            ports(port, &format!("{path}.ports[{index}]"), errors);
        }
        for (index, peer) in list(rule, peers).iter().enumerate() {
            let path = format!("{path}.{peers}[{index}]");
            let selected = !peer["podSelector"].is_null() || !peer["namespaceSelector"].is_null();
            match (selected, peer["ipBlock"].is_object()) {
                (false, false) => errors.push(required(path, "must specify a peer")),
                (true, true) => {
                    let why = "may not specify both ipBlock and another peer";
                    errors.push(forbidden(path, why));
                }
                _ => {}
            }
        }
    }
}

/// A range of ports begins with a number.
fn ports(port: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(end) = port["endPort"].as_i64() else { return };
    let why = match &port["port"] {
        Value::Null => "may not be specified when `port` is not specified",
        Value::String(_) => "may not be specified when `port` is non-numeric",
        start if start.as_i64().is_some_and(|start| end < start) => "must be greater than or equal to `port`",
        _ => return,
    };
    errors.push(invalid(format!("{path}.endPort"), end, why));
}

fn ingress(ingress: &Value) -> Vec<FieldError> {
    let spec = &ingress["spec"];
    let mut errors = Vec::new();
    if list(spec, "rules").is_empty() && spec["defaultBackend"].is_null() {
        errors.push(invalid("spec", Value::Null, "either `defaultBackend` or `rules` must be specified"));
    }
    if spec["defaultBackend"].is_object() {
        backend(&spec["defaultBackend"], "spec.defaultBackend", &mut errors);
    }
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        let path = format!("spec.rules[{index}].http");
        if !rule["http"].is_object() {
            continue;
        }
        let paths = list(&rule["http"], "paths");
        if paths.is_empty() {
            errors.push(required(format!("{path}.paths"), ""));
        }
        for (index, one) in paths.iter().enumerate() {
            http_path(one, &format!("{path}.paths[{index}]"), &mut errors);
        }
    }
    errors
}

fn http_path(one: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    match one["pathType"].as_str() {
        None => errors.push(required(format!("{path}.pathType"), "pathType must be specified")),
        Some("Exact" | "Prefix") if !text(one, "path").starts_with('/') => {
            errors.push(invalid(format!("{path}.path"), text(one, "path"), "must be an absolute path"));
        }
        Some("ImplementationSpecific")
            if !text(one, "path").is_empty() && !text(one, "path").starts_with('/') =>
        {
            errors.push(invalid(format!("{path}.path"), text(one, "path"), "must be an absolute path"));
        }
        Some(kind) if !TYPES.contains(&kind) => {
            let allowed = TYPES.map(Value::from);
            errors.push(FieldError::not_supported(format!("{path}.pathType"), &kind.into(), &allowed));
        }
        Some(_) => {}
    }
    backend(&one["backend"], &format!("{path}.backend"), errors);
}

fn backend(backend: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_object(), resource.is_object()) {
        (true, true) => {
            errors.push(invalid(path, "", "cannot set both resource and service backends"));
        }
        (false, false) => errors.push(invalid(path, "", "resource or service backend is required")),
        (false, true) => {}
        (true, false) => service_port(&service["port"], path, errors),
    }
}

fn service_port(port: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (name, number) = (text(port, "name"), port["number"].as_i64().unwrap_or(0));
    if !name.is_empty() && number != 0 {
        errors.push(invalid(path, "", "cannot set both port name & port number"));
    } else if !name.is_empty() {
        let field = format!("{path}.service.port.name");
        let problems = machinery::types::port_name(name);
        errors.extend(problems.into_iter().map(|why| invalid(field.clone(), name, why)));
    } else if number == 0 {
        errors.push(required(path, "port name or number is required"));
    } else if !(1..=65535).contains(&number) {
        let why = "must be between 1 and 65535, inclusive";
        errors.push(invalid(format!("{path}.service.port.number"), number, why));
    }
}

fn ingress_class(class: &Value) -> Vec<FieldError> {
    let spec = &class["spec"];
    let mut errors = Vec::new();
    let controller = text(spec, "controller");
    let prefixed = controller.split_once('/').is_some_and(|(domain, rest)| {
        machinery::names::dns1123_subdomain(domain).is_empty() && !rest.is_empty()
    });
    if controller.is_empty() {
        errors.push(required("spec.controller", ""));
    } else if !prefixed {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(invalid("spec.controller", controller, why));
    }
    let parameters = &spec["parameters"];
    if parameters.is_object() {
        match (text(parameters, "scope"), parameters["namespace"].is_null()) {
            ("Namespace", true) => {
                let why = "`parameters.scope` is set to 'Namespace'";
                errors.push(required("spec.parameters.namespace", why));
            }
            ("Cluster", false) => {
                let why = "`parameters.scope` is set to 'Cluster'";
                errors.push(forbidden("spec.parameters.namespace", why));
            }
            _ => {}
        }
    }
    errors
}
