//! Validation of resource amounts: of containers, pods, nodes, quotas and classes, as kube-apiserver does it.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::{dns1123_label, qualified_name};
use machinery::quantity::nanos;
use serde_json::{Map, Value};

use crate::fields::{forbidden, invalid, required};

/// Resources of containers without a domain, except huge pages.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Resources of a pod as a whole, except huge pages.
pub(crate) const OF_PODS: [&str; 2] = ["cpu", "memory"];
/// All resource names without a domain, except huge pages.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources that are counted in whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Returns whether a pod itself can ask for the resource.
pub(crate) fn is_of_pods(name: &str) -> bool {
    OF_PODS.contains(&name) || is_huge_pages(name)
}

/// Returns whether the name belongs to Kubernetes: it has no domain, or a domain of `kubernetes.io`.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Returns whether the name is that of an extended resource, as device plugins offer it.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Returns whether a resource can be overcommitted.
pub(crate) fn is_elastic(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Validates the name of a resource, which must be standard or have a domain.
pub(crate) fn name(name: &str, path: &str) -> Vec<FieldError> {
    let problems = qualified_name(name);
    if !problems.is_empty() {
        return problems.into_iter().map(|why| invalid(path, name, why)).collect();
    }
    let standard = STANDARD.contains(&name) || is_huge_pages(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !standard {
        return vec![invalid(path, name, "must be a standard resource type or fully qualified")];
    }
    Vec::new()
}

/// Validates the name of a resource of containers.
pub(crate) fn of_container(resource: &str, path: &str) -> Vec<FieldError> {
    let mut errors = name(resource, path);
    if !resource.contains('/') {
        if !OF_CONTAINERS.contains(&resource) && !is_huge_pages(resource) {
            errors.push(invalid(path, resource, "must be a standard resource for containers"));
        }
    } else if !is_native(resource) && !is_extended(resource) {
        errors.push(invalid(path, resource, "doesn't follow extended resource name standard"));
    }
    errors
}

fn of_pod(resource: &str, path: &str) -> Vec<FieldError> {
    let errors = name(resource, path);
    if errors.is_empty() && !is_of_pods(resource) {
        let allowed = ["cpu", "hugepages-", "memory"].map(Value::from);
        return vec![FieldError::not_supported(path, &resource.into(), &allowed)];
    }
    errors
}

/// Validates an amount, which must not be negative, and must be whole for resources that are counted.
pub(crate) fn amount(resource: &str, amount: &Value, path: &str) -> Vec<FieldError> {
    let shown = text(amount);
    let value = nanos(&shown).unwrap_or(0);
    let mut errors = Vec::new();
    if value < 0 {
        errors.push(invalid(path, shown.as_str(), "must be greater than or equal to 0"));
    }
    if (WHOLE.contains(&resource) || is_extended(resource)) && value % 1_000_000_000 != 0 {
        errors.push(invalid(path, shown.as_str(), "must be an integer"));
    }
    errors
}

fn pages(resource: &str, amount: &Value, path: &str) -> Option<FieldError> {
    let size = nanos(resource.strip_prefix("hugepages-")?)?;
    let shown = text(amount);
    let value = nanos(&shown)?;
    let fits = size > 0 && value >= 0 && value % size == 0;
    let why = format!("{shown} is not positive integer multiple of {resource}");
    (!fits).then(|| invalid(path, shown.as_str(), why))
}

/// The owner of resources to validate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// One container.
    Container,
    /// The pod as a whole.
    Pod,
}

/// Validates `resources` at `path`. `claims` contains the names of the pod's resource claims.
pub(crate) fn check(
    resources: &Value,
    path: &str,
    of: Of,
    claims: &BTreeSet<&str>,
    errors: &mut Vec<FieldError>,
) {
    let none = Map::new();
    let amounts = |list: &str| resources[list].as_object().unwrap_or(&none);
    let known = |name: &str, path: &str| match of {
        Of::Container => of_container(name, path),
        Of::Pod => of_pod(name, path),
    };
    let (limits, requests) = (amounts("limits"), amounts("requests"));
    for (list, found) in [("limits", limits), ("requests", requests)] {
        for (resource, quantity) in found {
            let at = format!("{path}.{list}[{resource}]");
            errors.extend(known(resource, &at));
            errors.extend(amount(resource, quantity, &at));
            if list == "requests" {
                errors.extend(within(resource, quantity, limits.get(resource), path));
            }
            errors.extend(pages(resource, quantity, &at));
        }
    }
    let any = |with: &dyn Fn(&str) -> bool| limits.keys().chain(requests.keys()).any(|name| with(name));
    if any(&is_huge_pages) && !any(&|name| OF_PODS.contains(&name)) {
        errors.push(forbidden(path, "HugePages require cpu or memory"));
    }
    claimed(resources, path, claims, errors);
}

/// Requires that a request is within its limit, and equal to it for resources that cannot be overcommitted.
fn within(resource: &str, asked: &Value, limit: Option<&Value>, path: &str) -> Option<FieldError> {
    let Some(limit) = limit else {
        let why = "Limit must be set for non overcommitable resources";
        return (!is_elastic(resource)).then(|| required(format!("{path}.limits"), why));
    };
    let (shown, limit) = (text(asked), text(limit));
    let (value, most) = (nanos(&shown)?, nanos(&limit)?);
    let why = if !is_elastic(resource) && value != most {
        format!("must be equal to {resource} limit of {limit}")
    } else if value > most {
        format!("must be less than or equal to {resource} limit of {limit}")
    } else {
        return None;
    };
    Some(invalid(format!("{path}.requests"), shown, why))
}

/// Maximum number of claim names in an error.
const CLAIMS_SHOWN: usize = 64;

/// Validates the resource claims that a container refers to.
fn claimed(resources: &Value, path: &str, claims: &BTreeSet<&str>, errors: &mut Vec<FieldError>) {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let list = resources["claims"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, claim) in list.iter().enumerate() {
        let field = |name: &str| claim[name].as_str().unwrap_or_default();
        let (name, request, path) = (field("name"), field("request"), format!("{path}.claims[{index}]"));
        let twice = |key: &str| FieldError::new(FieldErrorKind::Duplicate, path.clone(), &key.into(), "");
        if name.is_empty() {
            errors.push(required(path, ""));
            continue;
        }
        if names.contains(name) {
            errors.push(twice(name));
        } else {
            let problems = if request.is_empty() { Vec::new() } else { dns1123_label(request) };
            let at = format!("{path}.request");
            errors.extend(problems.into_iter().map(|why| invalid(at.clone(), request, why)));
            let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{request}") };
            let first = format!("{name}/");
            let mut after = names.range(first.clone()..);
            let parts = request.is_empty() && after.next().is_some_and(|known| known.starts_with(&first));
            if names.contains(&key) || parts {
                errors.push(twice(&key));
            }
            names.insert(key);
        }
        if !claims.contains(name) {
            // Each error lists the claims, so an unlimited list would make the response quadratic in the size of the
            // pod.
            let known: Vec<&str> = claims.iter().copied().take(CLAIMS_SHOWN).collect();
            let which = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.join(", "))
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{which}");
            errors.push(FieldError::new(FieldErrorKind::NotFound, path, &name.into(), why));
        }
    }
}
