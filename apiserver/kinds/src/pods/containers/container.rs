//! Validation of the containers of a pod, as kube-apiserver does it.

use std::collections::{BTreeMap, BTreeSet};

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use super::environment::environment;
use super::ports::ports;
use super::{mounts, probes};
use crate::fields::{forbidden, invalid, list, required, text};
use crate::pods::resources;
use crate::pods::security;

/// The parts of a pod that the validation of its containers refers to.
pub(crate) struct Pod<'v> {
    /// The pod spec.
    pub(crate) spec: &'v Value,
    /// The volumes by name.
    pub(crate) volumes: BTreeMap<String, &'v Value>,
    /// The names of the resource claims.
    pub(crate) claims: BTreeSet<&'v str>,
}

impl Pod<'_> {
    fn grace(&self) -> i64 {
        self.spec["terminationGracePeriodSeconds"].as_i64().unwrap_or(30)
    }
}

/// Validates a container at `path`, except its name. `starts` is true for init containers.
pub(crate) fn check(
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
    mounts::mounts(container, path, &pod.volumes, errors);
    mounts::devices(container, path, &pod.volumes, errors);
    let at = format!("{path}.resources");
    resources::check(&container["resources"], &at, resources::Of::Container, &pod.claims, errors);
    resized(container, &format!("{path}.resizePolicy"), pod.spec, errors);
    security::of_container(container, path, pod.spec["hostUsers"] != false, errors);
    restarts(container, path, errors);
    let alongside = container["restartPolicy"] == "Always";
    if !starts || alongside {
        probes::lifecycle(container, path, pod.grace(), &pod.spec["os"], errors);
        probes::probes(container, path, errors);
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
