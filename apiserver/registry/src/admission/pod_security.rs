//! The Pod Security Standards that the labels of a namespace demand.

use std::collections::BTreeMap;

use kinds::Subresource;
use kinds::standards::{self, Level, LevelVersion, Policy};
use machinery::meta;
use machinery::status::Status;
use serde_json::{Map, Value};

use super::plugins::forbidden;
use super::review::Operation;
use crate::storage::entries::Storage;
use crate::storage::outline;
use crate::target::Target;

/// The labels, after their common prefix.
const LABELS: [&str; 6] = ["enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"];
/// Maximum number of pods that are looked at when a namespace gets another level.
const PODS: usize = 3000;

/// Checks an object, and returns warnings.
///
/// # Errors
/// The refusal that the client gets.
pub(crate) fn check(
    storage: &Storage,
    target: &Target<'_>,
    operation: Operation,
    old: Option<&Value>,
    object: &Value,
) -> Result<Vec<String>, Status> {
    let definition = &target.served.definition;
    if !definition.built_in || matches!(operation, Operation::Delete) {
        return Ok(Vec::new());
    }
    let is_whole = target.subresource == Subresource::None;
    let template = match (definition.group.as_str(), definition.plural.as_str()) {
        ("", "namespaces") if is_whole => return of_namespace(storage, old, object),
        ("", "pods") => {
            let parts = [Subresource::None, Subresource::EphemeralContainers, Subresource::Resize];
            let concerns = parts.contains(&target.subresource) && old.is_none_or(|old| differs(object, old));
            return if concerns { of_pod(storage, target, object) } else { Ok(Vec::new()) };
        }
        _ if !is_whole => return Ok(Vec::new()),
        ("", "podtemplates") => &object["template"],
        ("", "replicationcontrollers")
        | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => &object["spec"]["template"],
        ("batch", "cronjobs") => &object["spec"]["jobTemplate"]["spec"]["template"],
        _ => return Ok(Vec::new()),
    };
    let Some(policy) = policy(storage, target.namespace).filter(|_| template.is_object()) else {
        return Ok(Vec::new());
    };
    Ok(warning(policy.warn, template).into_iter().collect())
}

/// Returns the policy of a namespace; `None` if it has no labels about it.
fn policy(storage: &Storage, namespace: &str) -> Option<Policy> {
    let stored = storage.stored(&format!("/registry/core/namespaces/{namespace}"))?;
    let outline = outline::of(&stored)?;
    let mut labels = Map::new();
    for name in LABELS {
        let key = format!("pod-security.kubernetes.io/{name}");
        if let Some(value) = outline.label(&key) {
            labels.insert(key, value.into());
        }
    }
    (!labels.is_empty()).then(|| Policy::of(Some(&labels)).0)
}

fn warning(policy: LevelVersion, pod: &Value) -> Option<String> {
    let found = standards::violations(policy, &pod["metadata"]["annotations"], &pod["spec"]);
    (!found.is_empty())
        .then(|| format!("would violate PodSecurity \"{policy}\": {}", standards::details(&found)))
}

fn of_pod(storage: &Storage, target: &Target<'_>, pod: &Value) -> Result<Vec<String>, Status> {
    let Some(policy) = policy(storage, target.namespace) else { return Ok(Vec::new()) };
    let enforce = policy.enforce;
    let found = standards::violations(enforce, &pod["metadata"]["annotations"], &pod["spec"]);
    if !found.is_empty() {
        let why = format!("violates PodSecurity \"{enforce}\": {}", standards::details(&found));
        return Err(forbidden(target, pod, &why));
    }
    Ok(warning(policy.warn, pod).into_iter().collect())
}

/// Returns whether an update changes what the standards are about: the containers and their images.
fn differs(pod: &Value, old: &Value) -> bool {
    let images = |pod: &Value, field: &str| -> Vec<Value> {
        let containers = pod["spec"][field].as_array().into_iter().flatten();
        containers.map(|container| container["image"].clone()).collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .any(|field| images(pod, field) != images(old, field))
}

fn of_namespace(storage: &Storage, old: Option<&Value>, namespace: &Value) -> Result<Vec<String>, Status> {
    let (policy, errors) = Policy::of(meta::labels(namespace));
    let before = old.map(|old| Policy::of(meta::labels(old)));
    let same = |(_, before): &(Policy, Vec<_>)| !before.is_empty() && *before == errors;
    if !errors.is_empty() && !before.as_ref().is_some_and(same) {
        return Err(Status::invalid("", "Namespace", meta::name(namespace), &errors));
    }
    let Some((before, _)) = before else { return Ok(Vec::new()) };
    let (now, then) = (policy.enforce, before.enforce);
    let is_relaxed = now.version == then.version && now.level <= then.level;
    if now == then || now.level == Level::Privileged || is_relaxed {
        return Ok(Vec::new());
    }
    Ok(of_existing_pods(storage, meta::name(namespace), now))
}

/// Warns of the pods that a new level would refuse.
fn of_existing_pods(storage: &Storage, namespace: &str, enforce: LevelVersion) -> Vec<String> {
    let (stored, _) = storage.range(&format!("/registry/core/pods/{namespace}/"));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for stored in stored.iter().take(PODS) {
        let pod = machinery::decode::own::<Value>(&stored.value).unwrap_or_default();
        let violations = standards::violations(enforce, &pod["metadata"]["annotations"], &pod["spec"]);
        if !violations.is_empty() {
            found.entry(standards::reasons(&violations)).or_default().push(stored.key.name().to_owned());
        }
    }
    let mut warnings = Vec::new();
    if stored.len() > PODS {
        let all = stored.len();
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {PODS} of {all} existing pods"
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let shown = |(why, pods): (String, Vec<String>)| {
        let first = pods.first().cloned().unwrap_or_default();
        match pods.len() {
            1 => format!("{first}: {why}"),
            2 => format!("{first} (and 1 other pod): {why}"),
            count => format!("{first} (and {} other pods): {why}", count - 1),
        }
    };
    let mut lines: Vec<String> = found.into_iter().map(shown).collect();
    lines.sort();
    warnings.extend(lines);
    warnings
}
