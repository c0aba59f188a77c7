//! Ingresses and IngressClasses.

use std::net::IpAddr;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::dns1123_subdomain;
use serde_json::Value;

use crate::fields::{forbidden, invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// `networking.k8s.io/v1` Ingress.
pub(crate) const INGRESS: Rules = Rules {
    validate: ingress,
    validate_new: |ingress| {
        const CLASS: &str = "kubernetes.io/ingress.class";
        let (older, newer) =
            (&ingress["metadata"]["annotations"][CLASS], &ingress["spec"]["ingressClassName"]);
        if older.is_null() || newer.is_null() || older == newer {
            return Vec::new();
        }
        let why = "must match `ingressClassName` when both are specified";
        vec![invalid(format!("annotations.{CLASS}"), older.clone(), why)]
    },
    status: Some(|ingress, _| balancers(&ingress["status"], &Value::Null)),
    ..NONE
};

/// Validates `status.loadBalancer`. `spec` is the spec of a Service, or null for an Ingress.
pub(crate) fn balancers(status: &Value, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let found = list(&status["loadBalancer"], "ingress");
    let path = "status.loadBalancer.ingress";
    if !found.is_empty() && !spec.is_null() && spec["type"] != "LoadBalancer" {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.push(forbidden(path, why));
    }
    for (index, ingress) in found.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (address, host) = (text(ingress, "ip"), text(ingress, "hostname"));
        if let Some(why) = crate::types::address_problem(address).filter(|_| !address.is_empty()) {
            errors.push(invalid(format!("{path}.ip"), address, why));
        }
        let mode = ingress["ipMode"].as_str();
        if !address.is_empty() && mode.is_none() && spec["type"] == "LoadBalancer" {
            errors.push(required(format!("{path}.ipMode"), "must be specified when `ip` is set"));
        } else if let Some(mode) = mode {
            let field = format!("{path}.ipMode");
            if address.is_empty() {
                errors.push(forbidden(field, "may not be specified when `ip` is not set"));
            } else if !["Proxy", "VIP"].contains(&mode) {
                let allowed = ["Proxy", "VIP"].map(Value::from);
                errors.push(FieldError::not_supported(field, &mode.into(), &allowed));
            }
        }
        if !host.is_empty() {
            let field = format!("{path}.hostname");
            let problems = dns1123_subdomain(host);
            errors.extend(problems.into_iter().map(|why| invalid(field.clone(), host, why)));
            if host.parse::<IpAddr>().is_ok() {
                errors.push(invalid(field, host, "must be a DNS name, not an IP address"));
            }
        }
    }
    errors
}

/// `networking.k8s.io/v1` IngressClass.
pub(crate) const INGRESS_CLASS: Rules =
    Rules { validate: ingress_class, immutable_fields: &["spec.controller"], ..NONE };

fn ingress(ingress: &Value) -> Vec<FieldError> {
    let spec = &ingress["spec"];
    let mut errors = Vec::new();
    if list(spec, "rules").is_empty() && spec["defaultBackend"].is_null() {
        errors.push(invalid("spec", Value::Null, "either `defaultBackend` or `rules` must be specified"));
    }
    if spec["defaultBackend"].is_object() {
        backend(&spec["defaultBackend"], "spec.defaultBackend", &mut errors);
    }
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        for (at, host) in list(tls, "hosts").iter().filter_map(Value::as_str).enumerate() {
            host_name(host, &format!("spec.tls[{index}].hosts[{at}]"), &mut errors);
        }
    }
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        let host = text(rule, "host");
        if host.parse::<IpAddr>().is_ok() {
            let why = "must be a DNS name, not an IP address";
            errors.push(invalid(format!("spec.rules[{index}].host"), host, why));
        }
        if !host.is_empty() {
            host_name(host, &format!("spec.rules[{index}].host"), &mut errors);
        }
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

/// Validates a host name, which may begin with the wildcard `*.`.
fn host_name(host: &str, path: &str, errors: &mut Vec<FieldError>) {
    let problems = if host.contains('*') { wildcard(host) } else { dns1123_subdomain(host) };
    errors.extend(problems.into_iter().map(|why| invalid(path, host, why)));
}

fn wildcard(host: &str) -> Vec<String> {
    let rest = host.strip_prefix("*.").unwrap_or_default();
    if dns1123_subdomain(rest).is_empty() {
        return Vec::new();
    }
    let why = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
               consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character \
               (e.g. '*.example.com', regex used for validation is \
               '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    vec![why.to_owned()]
}

/// Sequences that `Exact` and `Prefix` paths must not contain, and sequences that they must not end with.
const ODD_STEPS: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
const ODD_ENDS: [&str; 2] = ["/..", "/."];

fn steps(path: &str, field: &str, errors: &mut Vec<FieldError>) {
    for odd in ODD_STEPS.into_iter().filter(|odd| path.contains(odd)) {
        errors.push(invalid(field, path, format!("must not contain '{odd}'")));
    }
    for odd in ODD_ENDS.into_iter().filter(|odd| path.ends_with(odd)) {
        errors.push(invalid(field, path, format!("cannot end with '{odd}'")));
    }
}

fn http_path(one: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    match one["pathType"].as_str() {
        None => errors.push(required(format!("{path}.pathType"), "pathType must be specified")),
        Some("Exact" | "Prefix") if !text(one, "path").starts_with('/') => {
            errors.push(invalid(format!("{path}.path"), text(one, "path"), "must be an absolute path"));
        }
        Some("Exact" | "Prefix") => steps(text(one, "path"), &format!("{path}.path"), errors),
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
        let problems = crate::types::port_name(name);
        errors.extend(problems.into_iter().map(|why| invalid(field.clone(), name, why)));
    } else if number == 0 {
        errors.push(required(path, "port name or number is required"));
    } else if !(1..=65535).contains(&number) {
        let why = "must be between 1 and 65535, inclusive";
        errors.push(invalid(format!("{path}.service.port.number"), number, why));
    }
}

/// Maximum length of the controller name of an IngressClass, in bytes.
const CONTROLLER_MAX: usize = 250;

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
    if controller.len() > CONTROLLER_MAX {
        let why = format!("may not be more than {CONTROLLER_MAX} bytes");
        errors.push(FieldError::bare(FieldErrorKind::TooLong, "spec.controller", why));
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
