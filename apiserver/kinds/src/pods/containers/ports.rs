//! Validation of container ports.

use std::collections::BTreeSet;

use crate::types::port_name;
use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use crate::fields::{invalid, list, required, text};

/// Reports host ports that the containers at `path` claim twice, by protocol, host IP and port number.
pub(crate) fn host_ports(containers: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        for (at, port) in list(container, "ports").iter().enumerate() {
            let host_port = port["hostPort"].as_i64().unwrap_or(0);
            let shown = format!("{}/{}/{host_port}", text(port, "protocol"), text(port, "hostIP"));
            if host_port != 0 && !seen.insert(shown.clone()) {
                let field = format!("{path}[{index}].ports[{at}].hostPort");
                errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &shown.into(), ""));
            }
        }
    }
}

pub(crate) fn ports(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}.ports[{index}]");
        let name = text(port, "name");
        let field = format!("{path}.name");
        let problems = if name.is_empty() { Vec::new() } else { port_name(name) };
        let good = problems.is_empty();
        errors.extend(problems.into_iter().map(|why| invalid(field.clone(), name, why)));
        if good && !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &name.into(), ""));
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.push(required(format!("{path}.containerPort"), "")),
            number => errors.extend(outside(number, format!("{path}.containerPort"))),
        }
        let host_port = port["hostPort"].as_i64().unwrap_or(0);
        if host_port != 0 {
            errors.extend(outside(host_port, format!("{path}.hostPort")));
        }
    }
}

fn outside(number: i64, field: String) -> Option<FieldError> {
    let why = "must be between 1 and 65535, inclusive";
    (!(1..=65535).contains(&number)).then(|| invalid(field, number, why))
}
