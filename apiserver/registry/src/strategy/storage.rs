//! PersistentVolumes and PersistentVolumeClaims. They get no protection finalizer, because no controller of this server
//! removes it when they are no longer in use.

use machinery::field::FieldError;
use machinery::types;
use serde_json::{Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};
use super::scheduling;
use super::security::internal;

/// `v1` PersistentVolume.
pub(super) const VOLUME: Rules = Rules {
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

fn positive(amount: &Value, path: &str) -> Option<FieldError> {
    let shown = amount.as_str()?;
    let value = machinery::quantity::nanos(shown)?;
    (value <= 0).then(|| invalid(path, shown, "must be greater than zero"))
}

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// `v1` PersistentVolumeClaim.
pub(super) const CLAIM: Rules = Rules {
    prepare: |object| {
        object["status"] = json!({"phase": "Pending"});
        data_sources(&mut object["spec"]);
    },
    prepare_update: |object, old| {
        if old["spec"].get("dataSourceRef").is_some() {
            data_sources(&mut object["spec"]);
        }
    },
    validate: |object| {
        let mut errors = Vec::new();
        claim(&object["spec"], "spec", &mut errors);
        errors
    },
    immutable: claim_kept,
    status: Some(|object, _| {
        let mut errors = Vec::new();
        for (name, amount) in object["status"]["capacity"].as_object().into_iter().flatten() {
            let path = format!("status.capacity[{name}]");
            errors.extend(super::resources::amount(name, amount, &path));
        }
        errors
    }),
    ..NONE
};

/// Validates the spec of a claim at `path`.
pub(super) fn claim(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    errors.extend(access_modes(spec, path, "at least 1 access mode is required"));
    let storage = &spec["resources"]["requests"]["storage"];
    if storage.is_null() {
        errors.push(required(format!("{path}.resources[storage]"), ""));
    }
    errors.extend(positive(storage, &format!("{path}.resources[storage]")));
    if let Some(name) = spec["volumeAttributesClassName"].as_str().filter(|name| !name.is_empty()) {
        let field = format!("{path}.volumeAttributesClassName");
        let problems = machinery::names::dns1123_subdomain(name);
        errors.extend(problems.into_iter().map(|why| invalid(field.clone(), name, why)));
    }
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    let same = |field: &str| source[field] == reference[field];
    if source.is_object() && reference.is_object() && !["apiGroup", "kind", "name"].into_iter().all(same) {
        let mut error = invalid(path, Value::Null, "must match dataSourceRef");
        error.value = Some("{}".into());
        errors.push(error);
    }
}

/// Returns errors for changes of a claim's spec, which is immutable except for a few fields once the claim is bound.
fn claim_kept(object: &Value, old: &Value) -> Vec<FieldError> {
    const WHY: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
                       for bound claims";
    let mut errors = Vec::new();
    let (mut now, mut before) = (object["spec"].clone(), old["spec"].clone());
    if before["volumeName"].as_str().is_none_or(str::is_empty) {
        before["volumeName"] = now["volumeName"].clone();
    }
    let beta = |object: &Value| object["metadata"]["annotations"][BETA_CLASS].clone();
    if beta(object) != beta(old) {
        let value = beta(object).as_str().unwrap_or_default().to_owned();
        errors.push(invalid(format!("metadata.annotations.{BETA_CLASS}"), value, "field is immutable"));
    }
    if object["status"]["phase"] == "Bound" {
        if now["resources"]["requests"].is_object() {
            now["resources"]["requests"]["storage"] = before["resources"]["requests"]["storage"].clone();
        }
        now["volumeAttributesClassName"] = before["volumeAttributesClassName"].clone();
    }
    let ty = "core.PersistentVolumeClaimSpec";
    if !types::same(ty, &now, &before) {
        errors.push(forbidden("spec", format!("{WHY}\n{}", types::changes(ty, &before, &now))));
    }
    let size = |value: &Value| value.as_str().and_then(machinery::quantity::nanos).unwrap_or(0);
    let asked = |object: &Value| size(&object["spec"]["resources"]["requests"]["storage"]);
    if asked(object) < asked(old) && asked(object) <= size(&object["status"]["capacity"]["storage"]) {
        let why = "field can not be less than status.capacity";
        errors.push(forbidden("spec.resources.requests.storage", why));
    }
    errors
}

fn access_modes(spec: &Value, path: &str, why: &str) -> Vec<FieldError> {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = spec["accessModes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let path = format!("{path}.accessModes");
    if modes.is_empty() {
        return vec![required(path, why)];
    }
    let unknown = modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode)));
    let mut errors: Vec<FieldError> =
        unknown.map(|mode| FieldError::not_supported(&path, mode, &MODES.map(Value::from))).collect();
    if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
        errors.push(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
    errors
}

/// Keeps `dataSource` and the newer `dataSourceRef` equal.
fn data_sources(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    // The core group has no other kind of source, and sources in other namespaces need a feature gate that is off.
    let is_foreign = |source: &Value| {
        let core = source["apiGroup"].as_str().is_none_or(str::is_empty);
        core && source["kind"] != "PersistentVolumeClaim"
    };
    if spec.get("dataSource").is_some_and(is_foreign) {
        spec.remove("dataSource");
    }
    if spec
        .get("dataSourceRef")
        .is_some_and(|source| source["namespace"].as_str().is_some_and(|namespace| !namespace.is_empty()))
    {
        spec.remove("dataSourceRef");
    }
    let set = |value: Option<&Value>| value.filter(|value| value.is_object()).cloned();
    match (set(spec.get("dataSource")), set(spec.get("dataSourceRef"))) {
        (Some(source), None) => drop(spec.insert("dataSourceRef".into(), source)),
        (None, Some(source)) if source["namespace"].as_str().is_none_or(str::is_empty) => {
            spec.insert("dataSource".into(), source);
        }
        _ => {}
    }
}
