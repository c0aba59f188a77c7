//! PersistentVolumeClaims. They get no protection finalizer, because no controller of this server removes it when they
//! are no longer in use.

use crate::types;
use machinery::field::FieldError;
use serde_json::{Value, json};

use super::capacity::{access_modes, positive};
use crate::fields::{forbidden, invalid, required};
use crate::pods::resources;
use crate::strategy::rules::{NONE, Rules};

const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// `v1` PersistentVolumeClaim.
pub(crate) const CLAIM: Rules = Rules {
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
            errors.extend(resources::amount(name, amount, &path));
        }
        errors
    }),
    ..NONE
};

/// Validates the spec of a claim at `path`.
pub(crate) fn claim(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
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
