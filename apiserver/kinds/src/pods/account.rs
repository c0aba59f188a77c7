//! Admission of pods by their ServiceAccount, in the words of kube-apiserver's plugin `ServiceAccount`.

use std::collections::BTreeSet;

use machinery::{go, meta};
use serde_json::{Value, json};

use super::defaults::CONTAINERS;
use crate::fields::{annotated, list, text};

/// The account of pods that name none.
pub const DEFAULT: &str = "default";
/// The annotation of an account whose pods may use only the Secrets that it names.
const ENFORCES: &str = "kubernetes.io/enforce-mountable-secrets";
/// The annotation of a pod that shows a static pod of a kubelet.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";
/// The prefix of the volume with the token.
const VOLUME: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The lifetime of the token in seconds. Kubelets write another one long before its end.
const TOKEN_SECONDS: u64 = 3607;

/// Returns whether the pod shows a static pod, which only its kubelet may complete.
pub fn is_mirror(pod: &Value) -> bool {
    annotated(pod, MIRROR)
}

/// Returns the name of the pod's account; empty if it names none.
pub fn name_of(pod: &Value) -> &str {
    text(&pod["spec"], "serviceAccountName")
}

/// Checks that a mirror pod refers to nothing in the API.
///
/// # Errors
/// The reason of the refusal.
pub fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    let spec = &pod["spec"];
    if !name_of(pod).is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if names_secrets(spec) {
        return Err("a mirror pod may not reference secrets");
    }
    let mut sources = list(spec, "volumes").iter().flat_map(|volume| list(&volume["projected"], "sources"));
    if sources.any(|source| !source["serviceAccountToken"].is_null()) {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// Completes a new pod from its account: its name, the volume with a token, which is named `volume()`, and the Secrets of image registries.
pub fn complete(pod: &mut Value, account: &Value, volume: impl FnOnce() -> String) {
    let asked = [&pod["spec"], account];
    let mounts = asked.iter().find_map(|one| one["automountServiceAccountToken"].as_bool()).unwrap_or(true);
    let Some(spec) = pod.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    for field in ["serviceAccountName", "serviceAccount"] {
        spec[field] = meta::name(account).into();
    }
    if mounts {
        mount(spec, volume);
    }
    let secrets = list(account, "imagePullSecrets");
    if list(spec, "imagePullSecrets").is_empty() && !secrets.is_empty() {
        let names: Vec<Value> = secrets.iter().map(|one| json!({"name": text(one, "name")})).collect();
        spec["imagePullSecrets"] = names.into();
    }
}

/// Mounts the token into each container that has nothing at its path.
fn mount(spec: &mut Value, volume: impl FnOnce() -> String) {
    let mut names = list(spec, "volumes").iter().map(|one| text(one, "name"));
    let present = names.find(|name| name.starts_with(VOLUME)).map(str::to_owned);
    let is_present = present.is_some();
    let name = present.unwrap_or_else(volume);
    let mut needed = false;
    for lists in ["initContainers", "containers"] {
        for container in spec.get_mut(lists).and_then(Value::as_array_mut).into_iter().flatten() {
            if list(container, "volumeMounts").iter().any(|one| text(one, "mountPath") == MOUNT_PATH) {
                continue;
            }
            needed = true;
            push(container, "volumeMounts", json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH}));
        }
    }
    if needed && !is_present {
        push(spec, "volumes", json!({"name": name, "projected": token()}));
    }
}

fn push(owner: &mut Value, field: &str, item: Value) {
    match owner.get_mut(field).and_then(Value::as_array_mut) {
        Some(items) => items.push(item),
        None => owner[field] = json!([item]),
    }
}

/// Returns the source of the volume: a token, the authority of the API server, and the namespace.
fn token() -> Value {
    json!({"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]})
}

/// Returns whether the pod names a Secret anywhere.
fn names_secrets(spec: &Value) -> bool {
    let names = |value: &Value| !crate::decode::empty(value);
    let of_container = |container: &Value| {
        list(container, "envFrom").iter().any(|source| names(&source["secretRef"]))
            || list(container, "env").iter().any(|one| names(&one["valueFrom"]["secretKeyRef"]))
    };
    let of_volume = |volume: &Value| {
        let drivers = ["azureFile", "cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];
        names(&volume["secret"])
            || drivers.iter().any(|driver| names(&volume[*driver]["secretRef"]))
            || names(&volume["azureFile"]["secretName"])
            || names(&volume["csi"]["nodePublishSecretRef"])
            || list(&volume["projected"], "sources").iter().any(|source| names(&source["secret"]))
    };
    !list(spec, "imagePullSecrets").is_empty()
        || CONTAINERS.iter().any(|lists| list(spec, lists).iter().any(of_container))
        || list(spec, "volumes").iter().any(of_volume)
}

/// Checks that the pod uses only Secrets that its account names, if the account says so.
///
/// # Errors
/// The reason of the refusal.
pub fn check_secrets(pod: &Value, account: &Value) -> Result<(), String> {
    if !enforces(account) {
        return Ok(());
    }
    let (spec, owner) = (&pod["spec"], meta::name(account));
    let (secrets, pulled) = (named(account, "secrets"), named(account, "imagePullSecrets"));
    let why = unknown(owner);
    for volume in list(spec, "volumes").iter().filter(|volume| !volume["secret"].is_null()) {
        let name = text(&volume["secret"], "secretName");
        if !secrets.contains(name) {
            return Err(format!("volume with secret.secretName=\"{name}\" {why}"));
        }
    }
    for (lists, words) in [("initContainers", "init container"), ("containers", "container")] {
        for container in list(spec, lists) {
            of_container(container, words, &secrets, &why)?;
        }
    }
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        let name = text(secret, "name");
        if !pulled.contains(name) {
            return Err(format!(
                "imagePullSecrets[{index}].name=\"{name}\" is not allowed because service account {owner} does not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}

/// Checks that the ephemeral containers of a pod use only Secrets that its account names, if the account says so.
///
/// # Errors
/// The reason of the refusal.
pub fn check_ephemeral_secrets(pod: &Value, account: &Value) -> Result<(), String> {
    if !enforces(account) {
        return Ok(());
    }
    let (secrets, why) = (named(account, "secrets"), unknown(meta::name(account)));
    let mut containers = list(&pod["spec"], "ephemeralContainers").iter();
    containers.try_for_each(|container| of_container(container, "ephemeral container", &secrets, &why))
}

/// Returns whether the pods of an account may use only the Secrets that it names.
fn enforces(account: &Value) -> bool {
    let value = meta::annotations(account).and_then(|all| all.get(ENFORCES)).and_then(Value::as_str);
    value.and_then(go::parse_bool) == Some(true)
}

/// Returns the names in a list of an account.
fn named<'a>(account: &'a Value, field: &str) -> BTreeSet<&'a str> {
    list(account, field).iter().map(|one| text(one, "name")).collect()
}

fn unknown(owner: &str) -> String {
    format!("is not allowed because service account {owner} does not reference that secret")
}

/// Checks the variables of a container, whose kind is `words`.
fn of_container(container: &Value, words: &str, secrets: &BTreeSet<&str>, why: &str) -> Result<(), String> {
    let shown = text(container, "name");
    for variable in list(container, "env") {
        let source = &variable["valueFrom"]["secretKeyRef"];
        let name = text(source, "name");
        if !source.is_null() && !secrets.contains(name) {
            let variable = text(variable, "name");
            return Err(format!(
                "{words} {shown} with envVar {variable} referencing secret.secretName=\"{name}\" {why}"
            ));
        }
    }
    for source in list(container, "envFrom").iter().filter(|source| !source["secretRef"].is_null()) {
        let name = text(&source["secretRef"], "name");
        if !secrets.contains(name) {
            return Err(format!(
                "{words} {shown} with envFrom referencing secret.secretName=\"{name}\" {why}"
            ));
        }
    }
    Ok(())
}
