//! Validation of probes and lifecycle hooks of containers, as kube-apiserver does it.

use crate::types::port_name;
use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{forbidden, invalid, required};

const PROBE: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const HOOK: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];

/// Validates the probes of the container at `path`.
pub(crate) fn probes(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let (probe, path) = (&container[name], format!("{path}.{name}"));
        if !probe.is_object() {
            continue;
        }
        handler(probe, &path, &PROBE, 0, errors);
        let seconds = &probe["terminationGracePeriodSeconds"];
        if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
            let field = format!("{path}.terminationGracePeriodSeconds");
            errors.push(invalid(field, seconds.clone(), "must be greater than 0"));
        }
        if name == "readinessProbe" {
            if !seconds.is_null() {
                let field = format!("{path}.terminationGracePeriodSeconds");
                errors.push(invalid(field, seconds.clone(), "must not be set for readinessProbes"));
            }
        } else if let Some(threshold) = probe["successThreshold"].as_i64().filter(|one| *one != 1) {
            errors.push(invalid(format!("{path}.successThreshold"), threshold, "must be 1"));
        }
    }
}

/// Validates the lifecycle hooks of the container at `path`. `grace` is the termination grace period of the pod in
/// seconds.
pub(crate) fn lifecycle(container: &Value, path: &str, grace: i64, os: &Value, errors: &mut Vec<FieldError>) {
    let lifecycle = &container["lifecycle"];
    for hook in ["postStart", "preStop"] {
        if lifecycle[hook].is_object() {
            handler(&lifecycle[hook], &format!("{path}.lifecycle.{hook}"), &HOOK, grace, errors);
        }
    }
    let signal = &lifecycle["stopSignal"];
    if !signal.is_null() && os["name"].as_str().is_none_or(str::is_empty) {
        let why = "may not be set for containers with empty `spec.os.name`";
        errors.push(forbidden(format!("{path}.lifecycle.stopSignal"), why));
    }
}

/// Validates a probe or a hook, which must have exactly one handler of `kinds`.
fn handler(holder: &Value, path: &str, kinds: &[&str], grace: i64, errors: &mut Vec<FieldError>) {
    let mut given = kinds.iter().filter(|kind| holder[**kind].is_object());
    let Some(first) = given.next() else {
        errors.push(required(path, "must specify a handler type"));
        return;
    };
    let (action, at) = (&holder[*first], format!("{path}.{first}"));
    match *first {
        "exec" if action["command"].as_array().is_none_or(Vec::is_empty) => {
            errors.push(required(format!("{at}.command"), ""));
        }
        "httpGet" => {
            errors.extend(port(&action["port"], &at));
            let headers = action["httpHeaders"].as_array().into_iter().flatten();
            for name in headers.map(|header| header["name"].as_str().unwrap_or_default()) {
                let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
                if name.is_empty() || !name.bytes().all(good) {
                    let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. \
                               'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
                    errors.push(invalid(format!("{at}.httpHeaders"), name, why));
                }
            }
        }
        "tcpSocket" | "grpc" => errors.extend(port(&action["port"], &at)),
        "sleep" => {
            let seconds = action["seconds"].as_i64().unwrap_or(0);
            if !(0..=grace).contains(&seconds) {
                let why =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                errors.push(invalid(at, seconds, why));
            }
        }
        _ => {}
    }
    let others =
        given.map(|kind| forbidden(format!("{path}.{kind}"), "may not specify more than 1 handler type"));
    errors.extend(others);
}

/// Validates the number or the name of a port.
fn port(port: &Value, path: &str) -> Vec<FieldError> {
    let field = format!("{path}.port");
    match port {
        Value::String(name) => {
            port_name(name).into_iter().map(|why| invalid(field.clone(), name.as_str(), why)).collect()
        }
        port => {
            let number = port.as_i64().unwrap_or(0);
            let why = "must be between 1 and 65535, inclusive";
            (!(1..=65535).contains(&number)).then(|| invalid(field, number, why)).into_iter().collect()
        }
    }
}
