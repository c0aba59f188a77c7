//! What kube-apiserver checks of the containers of a pod.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::types::port_name;
use serde_json::Value;

use super::default::{invalid, required};

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// What is wrong with a container at `path`, its name aside. It can mount `volumes`.
pub(super) fn check(container: &Value, path: &str, volumes: &BTreeSet<String>, errors: &mut Vec<FieldError>) {
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.push(invalid(format!("{path}.image"), image, why));
    }
    ports(container, path, errors);
    environment(container, path, errors);
    mounts(container, path, volumes, errors);
    resources(container, path, errors);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        handler(
            &container[probe],
            &format!("{path}.{probe}"),
            &["exec", "httpGet", "tcpSocket", "grpc"],
            errors,
        );
    }
    for hook in ["postStart", "preStop"] {
        let path = format!("{path}.lifecycle.{hook}");
        handler(&container["lifecycle"][hook], &path, &["exec", "httpGet", "tcpSocket", "sleep"], errors);
    }
}

fn ports(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut names = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
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
            let shown = format!("{}/{}/{host_port}", text(port, "protocol"), text(port, "hostIP"));
            if !host_ports.insert(shown.clone()) {
                let field = format!("{path}.hostPort");
                errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &shown.into(), ""));
            }
        }
    }
}

/// Nothing is negative, and nobody asks for more than they may have.
fn resources(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    use std::cmp::Ordering;
    let of = |field: &str| container["resources"][field].as_object().into_iter().flatten();
    for field in ["limits", "requests"] {
        for (name, amount) in of(field).filter_map(|(name, amount)| Some((name, amount.as_str()?))) {
            if machinery::quantity::compare(amount, "0") == Some(Ordering::Less) {
                let why = "must be greater than or equal to 0";
                errors.push(invalid(format!("{path}.resources.{field}[{name}]"), amount, why));
            }
            let limit = container["resources"]["limits"][name].as_str();
            let Some(limit) = limit.filter(|_| field == "requests") else { continue };
            if machinery::quantity::compare(amount, limit) == Some(Ordering::Greater) {
                let why = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(invalid(format!("{path}.resources.requests"), amount, why));
            }
        }
    }
}

fn outside(number: i64, field: String) -> Option<FieldError> {
    let why = "must be between 1 and 65535, inclusive";
    (!(1..=65535).contains(&number)).then(|| invalid(field, number, why))
}

/// Where the values of variables can come from.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

fn environment(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = format!("{path}.env[{index}].valueFrom");
        let from = &variable["valueFrom"];
        if !from.is_object() {
            continue;
        }
        let given = SOURCES.iter().filter(|source| !from[**source].is_null()).count();
        if given == 0 {
            let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(invalid(path, "", why));
        } else if !text(variable, "value").is_empty() {
            errors.push(invalid(path, "", "may not be specified when `value` is not empty"));
        } else if given > 1 {
            errors.push(invalid(path, "", "may not have more than one field specified at a time"));
        } else {
            field_ref(&from["fieldRef"], &path, errors);
            resource_ref(&from["resourceFieldRef"], &path, errors);
        }
    }
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        if source["configMapRef"].is_null() && source["secretRef"].is_null() {
            // A real server does not say which.
            let _ = index;
            let why = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(invalid(format!("{path}.envFrom"), "", why));
        }
    }
}

/// A field of the pod that a variable can hold.
fn field_ref(reference: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const FIELDS: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let field = text(reference, "fieldPath");
    let subscript = ["metadata.labels['", "metadata.annotations['"];
    let known = FIELDS.contains(&field)
        || subscript.iter().any(|start| field.starts_with(start) && field.ends_with("']"));
    if !field.is_empty() && !known {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(invalid(format!("{path}.fieldRef.fieldPath"), field, why));
    }
}

fn resource_ref(reference: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const RESOURCES: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = text(reference, "resource");
    let known = RESOURCES.contains(&resource)
        || ["limits.hugepages-", "requests.hugepages-"].iter().any(|start| resource.starts_with(start));
    if !resource.is_empty() && !known {
        let allowed = RESOURCES.map(Value::from);
        let field = format!("{path}.resourceFieldRef.resource");
        errors.push(FieldError::not_supported(field, &resource.into(), &allowed));
    }
}

fn mounts(container: &Value, path: &str, volumes: &BTreeSet<String>, errors: &mut Vec<FieldError>) {
    let mut places = BTreeSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if !volumes.contains(name) {
            errors.push(FieldError::new(FieldErrorKind::NotFound, format!("{path}.name"), &name.into(), ""));
        }
        if !place.is_empty() && !places.insert(place) {
            errors.push(invalid(format!("{path}.mountPath"), place, "must be unique"));
        }
    }
}

/// A probe or a hook does exactly one thing.
fn handler(holder: &Value, path: &str, kinds: &[&str], errors: &mut Vec<FieldError>) {
    if !holder.is_object() {
        return;
    }
    let mut given = kinds.iter().filter(|kind| holder[**kind].is_object());
    let Some(first) = given.next() else {
        errors.push(required(path, "must specify a handler type"));
        return;
    };
    if let Some(second) = given.next() {
        let why = "may not specify more than 1 handler type";
        errors.push(super::default::forbidden(format!("{path}.{second}"), why));
    }
    if *first == "exec" && list(&holder["exec"], "command").is_empty() {
        errors.push(required(format!("{path}.exec.command"), ""));
    }
}
