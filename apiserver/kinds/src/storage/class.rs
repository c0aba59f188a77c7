//! StorageClasses.

use std::collections::HashSet;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::qualified_name;
use serde_json::Value;

use crate::fields::{invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

fn twice(path: String, value: &str) -> FieldError {
    FieldError::new(FieldErrorKind::Duplicate, path, &value.into(), "")
}

/// `storage.k8s.io/v1` StorageClass.
pub(crate) const STORAGE: Rules = Rules {
    immutable_fields: &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
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
