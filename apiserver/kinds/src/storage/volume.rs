//! PersistentVolumes. They get no protection finalizer, because no controller of this server removes it when they are
//! no longer in use.

use crate::types;
use machinery::field::FieldError;
use serde_json::{Value, json};

use super::capacity::{access_modes, positive};
use crate::fields::{forbidden, internal, invalid, required};
use crate::pods::scheduling;
use crate::strategy::rules::{NONE, Rules};

/// `v1` PersistentVolume.
pub(crate) const VOLUME: Rules = Rules {
    prepare: |object| {
        let created = object["metadata"]["creationTimestamp"].clone();
        object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": created});
    },
    validate: |object| {
        let spec = &object["spec"];
        let mut errors = access_modes(spec, "spec", "");
        if spec["capacity"].as_object().is_none_or(serde_json::Map::is_empty) {
            errors.push(required("spec.capacity", ""));
        }
        if spec["capacity"]["storage"].is_null()
            || spec["capacity"].as_object().is_some_and(|map| map.len() > 1)
        {
            let allowed = ["storage".into()];
            let capacity = if spec["capacity"].is_null() { json!({}) } else { spec["capacity"].clone() };
            errors.push(FieldError::not_supported("spec.capacity", &capacity, &allowed));
        }
        for (name, amount) in spec["capacity"].as_object().into_iter().flatten() {
            let path = format!("spec.capacity[{name}]");
            if let Some(value) =
                amount.as_str().and_then(machinery::quantity::nanos).filter(|value| *value < 0)
            {
                let whole = i64::try_from(value / 1_000_000_000).unwrap_or(i64::MIN);
                errors.push(invalid(path.clone(), whole, "must be a valid resource quantity"));
            }
            errors.extend(positive(amount, &path));
        }
        volume(spec, &mut errors);
        errors
    },
    immutable: |object, old| {
        let (now, before) = (&object["spec"], &old["spec"]);
        let mut errors = Vec::new();
        let ty = "core.PersistentVolumeSource";
        if !types::same(ty, now, before) {
            let why = "spec.persistentvolumesource is immutable after creation";
            let changes = types::changes(ty, before, now);
            errors.push(forbidden("spec.persistentvolumesource", format!("{why}\n{changes}")));
        }
        if now["volumeMode"] != before["volumeMode"] {
            errors.push(invalid("volumeMode", now["volumeMode"].clone(), "field is immutable"));
        }
        if !before["nodeAffinity"].is_null() && now["nodeAffinity"] != before["nodeAffinity"] {
            let why = "field is immutable, except for updating from beta label to GA";
            let affinity = &now["nodeAffinity"];
            errors.push(internal("nodeAffinity".into(), "?core.VolumeNodeAffinity", affinity, why));
        }
        let class = "volumeAttributesClassName";
        if !before[class].is_null() && now[class].is_null() {
            errors.push(forbidden(format!("spec.{class}"), "update from non-nil value to nil is forbidden"));
        }
        errors
    },
    status: Some(|_, _| Vec::new()),
    ..NONE
};

/// Validates the volume source, the node affinity and the attributes class.
fn volume(spec: &Value, errors: &mut Vec<FieldError>) {
    let sources: Vec<&str> = SOURCES.into_iter().filter(|source| !spec[*source].is_null()).collect();
    match sources[..] {
        [] => errors.push(required("spec", "must specify a volume type")),
        [_, ref others @ ..] => errors.extend(
            others
                .iter()
                .map(|source| forbidden(format!("spec.{source}"), "may not specify more than 1 volume type")),
        ),
    }
    let path = |source: &str| spec[source]["path"].as_str().unwrap_or_default();
    for source in ["hostPath", "local"] {
        if path(source).split('/').any(|step| step == "..") {
            let field = format!("spec.{source}.path");
            errors.push(invalid(field, path(source), "must not contain '..'"));
        }
    }
    let affinity = &spec["nodeAffinity"];
    if affinity.is_object() {
        let at = "spec.nodeAffinity.required";
        if affinity["required"].is_object() {
            scheduling::node_selector(&affinity["required"], at, errors);
        } else {
            errors.push(required(at, "must specify required node constraints"));
        }
    } else if !spec["local"].is_null() {
        errors.push(required("spec.nodeAffinity", "Local volume requires node affinity"));
    }
    if path("hostPath") == "/" && spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(forbidden("spec.persistentVolumeReclaimPolicy", why));
    }
    if spec["volumeAttributesClassName"].is_string() {
        if spec["volumeAttributesClassName"] == "" {
            let why = "an empty string is disallowed";
            errors.push(required("spec.volumeAttributesClassName", why));
        }
        if spec["csi"].is_null() {
            errors.push(required("spec.csi", "has to be specified when using volumeAttributesClassName"));
        }
    }
}

/// The volume sources of a PersistentVolume.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];
