//! The output of `generate cluster --list-variables`.

use super::Options;
use crate::configuration::Environment;
use crate::template::Template;

/// Writes the required variables, then the optional ones with their default values.
pub fn list_variables(template: &Template, options: &Options, environment: &Environment) -> String {
    let mut required = String::new();
    let mut optional = Vec::new();
    for (name, default) in &template.variables {
        match known(name, options, environment).or_else(|| default.as_deref().map(quoted)) {
            Some(default) => optional.push((name, default)),
            None => required.push_str(&format!("  - {name}\n")),
        }
    }
    let mut text = String::new();
    if !required.is_empty() {
        text.push_str(&format!("Required Variables:\n{required}"));
    }
    if !optional.is_empty() {
        text.push_str("\nOptional Variables:\n");
    }
    let width = optional.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, default) in optional {
        text.push_str(&format!("  - {name:width$}  (defaults to {default})\n"));
    }
    text + "\n"
}

/// The value of a variable that options, the environment or the cluster's name set.
fn known(name: &str, options: &Options, environment: &Environment) -> Option<String> {
    let count = |option: Option<i64>, default: &str| {
        let option = option.map(|count| count.to_string()).or_else(|| environment.get(name));
        Some(option.unwrap_or_else(|| default.to_owned()))
    };
    match name {
        "CLUSTER_NAME" => Some(options.name.clone()),
        "NAMESPACE" => {
            let namespace = options.namespace.clone();
            Some(namespace.unwrap_or_else(|| "current Namespace in the KubeConfig file".to_owned()))
        }
        "CONTROL_PLANE_MACHINE_COUNT" => count(options.control_plane_machines, "1"),
        "WORKER_MACHINE_COUNT" => count(options.worker_machines, "0"),
        "KUBERNETES_VERSION" => options.kubernetes_version.clone().or_else(|| environment.get(name)),
        _ => None,
    }
}

fn quoted(default: &str) -> String {
    if default.starts_with('"') { default.to_owned() } else { crate::yaml::quoted(default.as_bytes()) }
}
