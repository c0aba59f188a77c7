//! Annotations of pods that the server interprets.

use std::collections::HashMap;

use machinery::field::FieldError;
use serde_json::{Map, Value, json};

use super::account::MIRROR;
use super::defaults::CONTAINERS;
use super::scheduling;
use crate::fields::{forbidden, invalid};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const PATH: &str = "metadata.annotations";

/// Annotations that held init containers in alpha and beta versions of Kubernetes.
const FORGOTTEN: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Removes obsolete annotations.
pub(crate) fn forget(pod: &mut Value) {
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(found) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    let before = found.len();
    found.retain(|key, _| !FORGOTTEN.contains(&key.as_str()));
    if found.is_empty() && before > 0 {
        metadata.remove("annotations");
    }
}

fn annotations(pod: &Value) -> impl Iterator<Item = (&str, &str)> {
    let found = pod["metadata"]["annotations"].as_object();
    found.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn containers(pod: &Value) -> impl Iterator<Item = (String, &Value)> {
    CONTAINERS.into_iter().flat_map(|list| {
        let found = pod["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        found.iter().enumerate().map(move |(index, one)| (format!("spec.{list}[{index}]"), one))
    })
}

/// Validates the annotations of a pod.
pub(crate) fn check(pod: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = |key: &str| format!("{PATH}[{key}]");
    for (key, value) in annotations(pod) {
        match key {
            MIRROR if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) => {
                let why = "must set spec.nodeName if mirror pod annotation is set";
                errors.push(invalid(at(key), value, why));
            }
            DELETION_COST if !is_cost(value) => {
                errors.push(invalid(at(key), value, "must be a 32bit integer"));
            }
            TOLERATIONS => {
                let found: Vec<Value> = serde_json::from_str(value).unwrap_or_default();
                for (index, toleration) in found.iter().enumerate() {
                    let path = format!("{PATH}.{TOLERATIONS}[{index}]");
                    scheduling::tolerates(toleration, &path, &mut errors);
                }
            }
            _ => {}
        }
        let seccomp = key == SECCOMP_POD || key.starts_with(SECCOMP);
        if seccomp && !is_seccomp(value) {
            errors.push(invalid(format!("{PATH}.{key}"), value, "must be a valid seccomp profile"));
        }
        let Some(container) = key.strip_prefix(APP_ARMOR) else { continue };
        if !containers(pod).any(|(_, one)| one["name"] == container) {
            errors.push(invalid(at(key), container, "container not found"));
        }
        if !matches!(value, "" | "runtime/default" | "unconfined") && !value.starts_with("localhost/") {
            let why = format!("invalid AppArmor profile name: {value:?}");
            errors.push(invalid(at(key), value, why));
        }
    }
    errors
}

/// Returns whether the text is a 32-bit integer without a plus sign or leading zeros.
fn is_cost(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let leading = digits.starts_with('0') && digits.len() > 1;
    text.parse::<i32>().is_ok() && !text.starts_with('+') && !leading
}

fn is_seccomp(text: &str) -> bool {
    let local = text.strip_prefix("localhost/");
    matches!(text, "runtime/default" | "docker/default" | "unconfined")
        || local.is_some_and(|path| !path.starts_with('/') && path.split('/').all(|step| step != ".."))
}

/// Returns errors for changes of annotations that an update must not make.
pub(crate) fn kept(pod: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let of = |pod: &Value, key: &str| {
        let found = &pod["metadata"]["annotations"][key];
        found.as_str().map(str::to_owned)
    };
    for (key, value) in annotations(pod).filter(|(key, _)| key.starts_with(APP_ARMOR)) {
        let path = format!("{PATH}[{key}]");
        match of(old, key) {
            None => errors.push(forbidden(path, "may not add AppArmor annotations")),
            Some(before) if before != value => {
                errors.push(forbidden(path, "may not update AppArmor annotations"));
            }
            Some(_) => {}
        }
    }
    let path = format!("{PATH}[{MIRROR}]");
    match (of(old, MIRROR), of(pod, MIRROR)) {
        (None, Some(_)) => errors.push(forbidden(path, "may not add mirror pod annotation")),
        (Some(before), now) if now.as_ref() != Some(&before) => {
            let why = "may not remove or update mirror pod annotation";
            errors.push(forbidden(path, why));
        }
        _ => {}
    }
    errors
}

/// Copies the AppArmor annotations of a new pod to the security contexts of its containers.
pub(crate) fn app_armor_fields(pod: &mut Value) {
    let found: HashMap<String, String> = annotations(pod)
        .filter_map(|(key, value)| Some((key.strip_prefix(APP_ARMOR)?.to_owned(), value.to_owned())))
        .collect();
    let whole = !pod["spec"]["securityContext"]["appArmorProfile"].is_null();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(value) = container["name"].as_str().and_then(|name| found.get(name)) else { continue };
            let profile = match value.as_str() {
                "runtime/default" => json!({"type": "RuntimeDefault"}),
                "unconfined" => json!({"type": "Unconfined"}),
                value => match value.strip_prefix("localhost/") {
                    Some(name) => json!({"type": "Localhost", "localhostProfile": name}),
                    None => continue,
                },
            };
            if !container["securityContext"].is_object() {
                container["securityContext"] = Value::Object(Map::new());
            }
            if container["securityContext"]["appArmorProfile"].is_null() && !whole {
                container["securityContext"]["appArmorProfile"] = profile;
            }
        }
    }
}

/// Validates that AppArmor annotations and fields of a new pod agree.
pub(crate) fn app_armor_agrees(pod: &Value) -> Vec<FieldError> {
    let whole = &pod["spec"]["securityContext"]["appArmorProfile"];
    let mut errors = Vec::new();
    for (path, container) in containers(pod) {
        let own = &container["securityContext"]["appArmorProfile"];
        let profile = if own.is_null() { whole } else { own };
        let key = format!("{APP_ARMOR}{}", container["name"].as_str().unwrap_or_default());
        let Some(value) = pod["metadata"]["annotations"][&key].as_str() else { continue };
        let path = format!("{path}.securityContext.appArmorProfile");
        let fits = match profile["type"].as_str() {
            Some("Unconfined") => value == "unconfined",
            Some("RuntimeDefault") => value == "runtime/default",
            Some("Localhost") => match value.strip_prefix("localhost/") {
                Some(name) if profile["localhostProfile"] != name => {
                    let why = "apparmor profile in annotation and field must match";
                    errors.push(forbidden(format!("{path}.localhostProfile"), why));
                    true
                }
                found => found.is_some(),
            },
            _ => true,
        };
        if !fits {
            let why = "apparmor type in annotation and field must match";
            errors.push(forbidden(format!("{path}.type"), why));
        }
    }
    errors
}
