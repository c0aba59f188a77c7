//! Validation of pod volumes: each has exactly one source, and each source has its rules.

use machinery::field::FieldError;
use machinery::names;
use serde_json::Value;

use super::drivers::{azure_disk, fibre, flex, flocker, iscsi};
use super::files::{downward, keys, mode, needs, projected};
use super::paths::{no_back_steps, relative};
use crate::fields::{forbidden, invalid, required, text};
use crate::storage::claim;

/// The sources in the order in which kube-apiserver checks them; it accepts the first one and refuses the others.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Returns the name of a source in kube-apiserver's error about several sources, including its spelling mistake.
fn shown(source: &str) -> &str {
    match source {
        "cephfs" => "cephFS",
        "downwardAPI" => "downwarAPI",
        source => source,
    }
}

/// Validates the volume at `path`.
pub(crate) fn check(volume: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut found = SOURCES.iter().filter(|source| !volume[**source].is_null());
    match found.next() {
        Some(source) => check_source(source, &volume[*source], &format!("{path}.{source}"), errors),
        None => errors.push(required(path, "must specify a volume type")),
    }
    for source in found {
        errors
            .push(forbidden(format!("{path}.{}", shown(source)), "may not specify more than 1 volume type"));
    }
}

fn check_source(name: &str, source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match name {
        "emptyDir" => empty_dir(source, path, errors),
        "hostPath" => {
            errors.extend(no_back_steps(text(source, "path"), &format!("{path}.path")));
        }
        "gitRepo" => {
            relative(text(source, "directory"), &format!("{path}.directory"), errors);
        }
        "secret" => {
            needs(source, "secretName", path, errors);
            keys(source, path, errors);
        }
        "configMap" => {
            needs(source, "name", path, errors);
            keys(source, path, errors);
        }
        "nfs" if !text(source, "path").starts_with('/') => {
            let field = format!("{path}.path");
            errors.push(invalid(field, text(source, "path"), "must be an absolute path"));
        }
        "downwardAPI" => {
            mode(source, "defaultMode", path, errors);
            for item in source["items"].as_array().into_iter().flatten() {
                downward(item, path, errors);
            }
        }
        "projected" => projected(source, path, errors),
        "csi" => {
            let driver = text(source, "driver");
            let lower = driver.to_lowercase();
            let problems = if driver.is_empty() { Vec::new() } else { names::dns1123_subdomain(&lower) };
            let field = format!("{path}.driver");
            errors.extend(problems.into_iter().map(|why| invalid(field.clone(), driver, why)));
            let secret = &source["nodePublishSecretRef"];
            if secret.is_object() {
                needs(secret, "name", &format!("{path}.nodePublishSecretRef"), errors);
            }
        }
        "image" => needs(source, "reference", path, errors),
        "ephemeral" if source["volumeClaimTemplate"].is_null() => {
            errors.push(required(format!("{path}.volumeClaimTemplate"), ""));
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let shown = path.replace("gcePersistentDisk", "persistentDisk");
            if name == "gcePersistentDisk" {
                needs(source, "pdName", &shown, errors);
            }
            let partition = source["partition"].as_i64().unwrap_or(0);
            if partition != 0 && !(1..=255).contains(&partition) {
                let why = "must be between 1 and 255, inclusive";
                errors.push(invalid(format!("{shown}.partition"), partition, why));
            }
        }
        "iscsi" => iscsi(source, path, errors),
        "flocker" => flocker(source, path, errors),
        "rbd" | "cephfs" if source["monitors"].as_array().is_none_or(Vec::is_empty) => {
            errors.push(required(format!("{path}.monitors"), ""));
        }
        "fc" => fibre(source, path, errors),
        "quobyte" if !text(source, "registry").is_empty() => {
            let registry = text(source, "registry");
            if !registry.split(',').all(|one| {
                one.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && !port.is_empty())
            }) {
                let why = "must be a host:port pair or multiple pairs separated by commas";
                errors.push(invalid(format!("{path}.registry"), registry, why));
            }
        }
        "flexVolume" => flex(source, path, errors),
        "azureDisk" => azure_disk(source, path, errors),
        "storageos" if text(source, "volumeName").is_empty() => needs(source, "volumeName", path, errors),
        "glusterfs" => {}
        "ephemeral" => claim(&source["volumeClaimTemplate"], path, errors),
        _ => {}
    }
}

fn empty_dir(source: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if text(source, "sizeLimit").starts_with('-') {
        let why = "SizeLimit field must be a valid resource quantity";
        errors.push(forbidden(format!("{path}.sizeLimit"), why));
    }
}

/// Validates the claim template of an ephemeral volume, whose claim gets a generated name.
fn claim(template: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.volumeClaimTemplate");
    for field in ["name", "generateName", "namespace"] {
        if !text(&template["metadata"], field).is_empty() {
            errors.push(forbidden(format!("{path}.metadata.{field}"), "cannot be set"));
        }
    }
    claim::claim(&template["spec"], &format!("{path}.spec"), errors);
}
