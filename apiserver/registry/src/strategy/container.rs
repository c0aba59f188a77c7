//! Validation of the containers of a pod, as kube-apiserver does it.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::qualified_name;
use machinery::types::port_name;
use serde_json::Value;

use super::default::{forbidden, invalid, required};
use super::{mount, probe, resources, security};

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The parts of a pod that the validation of its containers refers to.
pub(super) struct Pod<'v> {
    /// The pod spec.
    pub(super) spec: &'v Value,
    /// The volumes by name.
    pub(super) volumes: BTreeMap<String, &'v Value>,
    /// The names of the resource claims.
    pub(super) claims: BTreeSet<&'v str>,
}

impl Pod<'_> {
    fn grace(&self) -> i64 {
        self.spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30)
    }
}

/// Validates a container at `path`, except its name. `starts` is true for init containers.
pub(super) fn check(
    container: &Value,
    path: &str,
    pod: &Pod<'_>,
    starts: bool,
    errors: &mut Vec<FieldError>,
) {
    let image = text(container, "image");
    if image.is_empty() {
        errors.push(required(format!("{path}.image"), ""));
    } else if image.trim() != image && (path.starts_with("spec.containers") || path.starts_with("spec.init"))
    {
        let why = "must not have leading or trailing whitespace";
        errors.push(invalid(format!("{path}.image"), image, why));
    }
    ports(container, path, errors);
    environment(container, path, &pod.volumes, errors);
    mount::mounts(container, path, &pod.volumes, errors);
    mount::devices(container, path, &pod.volumes, errors);
    let at = format!("{path}.resources");
    resources::check(&container["resources"], &at, resources::Of::Container, &pod.claims, errors);
    resized(container, &format!("{path}.resizePolicy"), pod.spec, errors);
    security::of_container(container, path, pod.spec["hostUsers"] != false, errors);
    restarts(container, path, errors);
    let alongside = container["restartPolicy"] == "Always";
    if !starts || alongside {
        probe::lifecycle(container, path, pod.grace(), &pod.spec["os"], errors);
        probe::probes(container, path, errors);
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container[field].is_object() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.push(forbidden(format!("{path}.{field}"), why));
        }
    }
    for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
        if policy["restartPolicy"] == "RestartContainer" {
            let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            let field = format!("{path}.resizePolicy[{index}].restartPolicy");
            errors.push(invalid(field, "RestartContainer", why));
        }
    }
}

/// Validates `resizePolicy`, which says whether a container restarts when its resources change.
fn resized(container: &Value, path: &str, spec: &Value, errors: &mut Vec<FieldError>) {
    let mut seen = BTreeSet::new();
    for (index, policy) in list(container, "resizePolicy").iter().enumerate() {
        let (resource, how) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if !seen.insert(resource) {
            let field = format!("{path}[{index}]");
            errors.push(FieldError::new(FieldErrorKind::Duplicate, field, &resource.into(), ""));
        }
        for (value, allowed) in [(resource, ["cpu", "memory"]), (how, ["NotRequired", "RestartContainer"])] {
            if value.is_empty() {
                errors.push(required(path, ""));
            } else if !allowed.contains(&value) {
                errors.push(FieldError::not_supported(path, &value.into(), &allowed.map(Value::from)));
            }
        }
        if spec["restartPolicy"] == "Never" && how != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(invalid(path, how, why));
        }
    }
}

/// Maximum number of restart rules of a container.
const RESTART_RULES_MAX: usize = 20;

/// Validates `restartPolicyRules`.
fn restarts(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let rules = list(container, "restartPolicyRules");
    if container["restartPolicy"].is_null() && !rules.is_empty() {
        let why = "must specify restartPolicy when restart rules are used";
        errors.push(required(format!("{path}.restartPolicy"), why));
    }
    if rules.len() > RESTART_RULES_MAX {
        let why = format!("must have at most {RESTART_RULES_MAX} items");
        let mut error = FieldError::bare(FieldErrorKind::TooMany, format!("{path}.restartPolicyRules"), why);
        error.value = Some(rules.len().to_string());
        errors.push(error);
    }
    let allowed = ["Restart", "RestartAllContainers"];
    for (index, rule) in rules.iter().enumerate() {
        let (path, action) = (format!("{path}.restartPolicyRules[{index}]"), text(rule, "action"));
        if !allowed.contains(&action) {
            let field = format!("{path}.action");
            errors.push(FieldError::not_supported(field, &action.into(), &allowed.map(Value::from)));
        }
        let (codes, operators) = (&rule["exitCodes"], ["In", "NotIn"]);
        if !codes.is_object() {
            errors.push(required(format!("{path}.exitCodes"), "must be specified"));
        } else if !operators.contains(&text(codes, "operator")) {
            let field = format!("{path}.exitCodes.operator");
            let allowed = operators.map(Value::from);
            errors.push(FieldError::not_supported(field, &text(codes, "operator").into(), &allowed));
        }
    }
}

/// Reports host ports that the containers at `path` claim twice, by protocol, host IP and port number.
pub(super) fn host_ports(containers: &[Value], path: &str, errors: &mut Vec<FieldError>) {
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

fn ports(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
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

/// The fields of `valueFrom`, of which exactly one may be set.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

fn environment(
    container: &Value,
    path: &str,
    volumes: &BTreeMap<String, &Value>,
    errors: &mut Vec<FieldError>,
) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if !name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=') {
            let why = "a valid environment variable name must consist only of printable ASCII characters other \
                       than '='";
            errors.push(invalid(format!("{path}.env[{index}].name"), name, why));
        }
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
            for source in ["configMapKeyRef", "secretKeyRef"] {
                let key = text(&from[source], "key");
                let problems = if key.is_empty() { Vec::new() } else { super::config::key_problems(key) };
                let field = format!("{path}.{source}.key");
                errors.extend(problems.into_iter().map(|why| invalid(field.clone(), key, why)));
            }
            file_ref(&from["fileKeyRef"], &format!("{path}.fileKeyRef"), volumes, errors);
        }
    }
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        if source["configMapRef"].is_null() && source["secretRef"].is_null() {
            // The error of kube-apiserver does not contain the index.
            let _ = index;
            let why = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(invalid(format!("{path}.envFrom"), "", why));
        } else if source["configMapRef"].is_object() && source["secretRef"].is_object() {
            let why = "may not have more than one field specified at a time";
            errors.push(invalid(format!("{path}.envFrom"), "", why));
        }
    }
}

/// Validates a `fileKeyRef`, which refers to a file in an `emptyDir` volume.
fn file_ref(reference: &Value, path: &str, volumes: &BTreeMap<String, &Value>, errors: &mut Vec<FieldError>) {
    if !reference.is_object() {
        return;
    }
    let (name, field) = (text(reference, "volumeName"), format!("{path}.volumeName"));
    match volumes.get(name) {
        None => errors.push(FieldError::new(FieldErrorKind::NotFound, field, &name.into(), "")),
        Some(volume) if volume["emptyDir"].is_null() => {
            errors.push(invalid(field, name, "referenced volume must be of type emptyDir"));
        }
        Some(_) => {}
    }
}

/// Validates a `fieldRef` of an environment variable.
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
    /// Fields that field selectors support but environment variables do not.
    const SELECTABLE: [&str; 7] = [
        "metadata.annotations",
        "metadata.labels",
        "spec.hostNetwork",
        "spec.restartPolicy",
        "spec.schedulerName",
        "status.nominatedNodeName",
        "status.phase",
    ];
    let (field, version) = (text(reference, "fieldPath"), text(reference, "apiVersion"));
    let at = format!("{path}.fieldRef.fieldPath");
    if field.is_empty() {
        return;
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    if let Some((map, key)) = subscript {
        let key = if map == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        if !matches!(map, "metadata.annotations" | "metadata.labels") {
            errors.push(invalid(format!("{path}.fieldRef"), map, "does not support subscript"));
            return;
        }
        let problems = qualified_name(&key);
        let at = format!("{path}.fieldRef");
        errors.extend(problems.into_iter().map(|why| invalid(at.clone(), key.as_str(), why)));
    } else if !matches!(version, "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(invalid(at, field, why));
    } else if SELECTABLE.contains(&field) {
        errors.push(FieldError::not_supported(at, &field.into(), &FIELDS.map(Value::from)));
    } else if !FIELDS.contains(&field) {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(invalid(at, field, why));
    }
}

/// Validates a `resourceFieldRef` of an environment variable or of a downward API file.
pub(super) fn resource_ref(reference: &Value, path: &str, errors: &mut Vec<FieldError>) {
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
    const OF_BYTES: [&str; 13] =
        ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let divisor = text(reference, "divisor");
    let (allowed, shown): (&[&str], _) = match resource.split_once('.').map(|(_, name)| name) {
        Some("cpu") => (&["1m", "1"], "1m and 1 are supported with the cpu resource".to_owned()),
        Some(name) => {
            let what = match name {
                "ephemeral-storage" => "local ephemeral storage",
                "memory" => "memory",
                _ => "hugepages",
            };
            (&OF_BYTES, format!("{} are supported with the {what} resource", OF_BYTES.join(", ")))
        }
        None => return,
    };
    if !matches!(divisor, "" | "0") && !allowed.contains(&divisor) {
        let why = format!("only divisor's values {shown}");
        errors.push(invalid(format!("{path}.resourceFieldRef.divisor"), resource, why));
    }
}
