//! Storage classes, runtime classes and priority classes.

use std::collections::HashSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::names::qualified_name;
use serde_json::Value;

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};
use super::resources;
use super::scheduling::tolerates;
use super::security::internal;

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn twice(path: String, value: &str) -> FieldError {
    FieldError::new(FieldErrorKind::Duplicate, path, &value.into(), "")
}

/// `storage.k8s.io/v1` StorageClass.
pub(super) const STORAGE: Rules = Rules {
    validate: |class| {
        let mut errors = Vec::new();
        let provisioner = text(class, "provisioner").to_lowercase();
        if !provisioner.is_empty() {
            let problems = qualified_name(&provisioner);
            errors.extend(problems.into_iter().map(|why| invalid("provisioner", provisioner.as_str(), why)));
        }
        if class["parameters"].get("").is_some() {
            errors.push(invalid("parameters", "", "field can not be empty."));
        }
        if let Some(policy) =
            class["reclaimPolicy"].as_str().filter(|one| !matches!(*one, "Delete" | "Retain"))
        {
            let allowed = ["Delete", "Retain"].map(Value::from);
            errors.push(FieldError::not_supported("reclaimPolicy", &policy.into(), &allowed));
        }
        topologies(class, &mut errors);
        errors
    },
    ..NONE
};

/// Validates `allowedTopologies`, which restrict the places of the volumes of a class.
fn topologies(class: &Value, errors: &mut Vec<FieldError>) {
    let mut terms: Vec<Vec<(&str, Vec<&str>)>> = Vec::new();
    for (index, term) in list(class, "allowedTopologies").iter().enumerate() {
        let path = format!("allowedTopologies[{index}].matchLabelExpressions");
        let mut names = HashSet::new();
        let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
        for (index, expression) in list(term, "matchLabelExpressions").iter().enumerate() {
            let (path, key) = (format!("{path}[{index}]"), text(expression, "key"));
            let values = list(expression, "values");
            if values.is_empty() {
                errors.push(required(format!("{path}.values"), ""));
            }
            let mut known = HashSet::new();
            let mut seen: Vec<&str> = Vec::new();
            for (index, value) in values.iter().filter_map(Value::as_str).enumerate() {
                if !known.insert(value) {
                    errors.push(twice(format!("{path}.values[{index}]"), value));
                }
                seen.push(value);
            }
            let problems = qualified_name(key);
            errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.key"), key, why)));
            if !names.insert(key) {
                errors.push(twice(format!("{path}.key"), key));
            }
            seen.sort_unstable();
            keys.push((key, seen));
        }
        keys.sort_unstable();
        // A term without label expressions matches every place and is reported as a duplicate, as upstream does.
        if keys.is_empty() || terms.contains(&keys) {
            errors.push(twice(path, ""));
        }
        terms.push(keys);
    }
}

/// `node.k8s.io/v1` RuntimeClass.
pub(super) const RUNTIME: Rules = Rules {
    validate: |class| {
        let mut errors = Vec::new();
        for (name, amount) in class["overhead"]["podFixed"].as_object().into_iter().flatten() {
            let path = format!("overhead.limits[{name}]");
            errors.extend(resources::of_container(name, &path));
            errors.extend(resources::amount(name, amount, &path));
        }
        let tolerations = list(&class["scheduling"], "tolerations");
        let mut seen = HashSet::new();
        for (index, toleration) in tolerations.iter().enumerate() {
            let path = format!("scheduling.tolerations[{index}]");
            tolerates(toleration, &path, &mut errors);
            if !seen.insert(toleration) {
                let mut error = internal(path, "core.Toleration", toleration, "");
                error.kind = FieldErrorKind::Duplicate;
                errors.push(error);
            }
        }
        errors
    },
    ..NONE
};

/// The priority classes that every cluster has, with their priorities.
pub(super) const PRIORITIES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The maximum priority of classes that users define.
const PRIORITY_MAX: i64 = 1_000_000_000;

/// `scheduling.k8s.io/v1` PriorityClass.
pub(super) const PRIORITY: Rules = Rules {
    prepare: |class| {
        if let Some(metadata) = meta::metadata_mut(class) {
            metadata.insert("generation".into(), 1.into());
        }
    },
    validate: |class| {
        let (name, value) = (meta::name(class), class["value"].as_i64().unwrap_or(0));
        if PRIORITIES.iter().any(|(known, _)| *known == name) {
            return Vec::new();
        }
        let mut errors = Vec::new();
        if name.starts_with("system-") {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a \
                 known system priority class"
            );
            errors.push(forbidden("metadata.name", why));
        }
        if value > PRIORITY_MAX {
            let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
            errors.push(forbidden("value", why));
        }
        errors
    },
    ..NONE
};
