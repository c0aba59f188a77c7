//! Volumes and claims. New ones wait for a partner. Nothing here notices when they are no longer in use, so they get no finalizer
//! that would protect them until then.

use machinery::field::FieldError;
use serde_json::{Value, json};

use super::default::{forbidden, required};
use super::known::{NONE, Rules};

/// `v1` PersistentVolume
pub(super) const VOLUME: Rules = Rules {
    prepare: |object| {
        let created = object["metadata"]["creationTimestamp"].clone();
        object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": created});
    },
    validate: |object| {
        let mut errors = access_modes(&object["spec"], "spec", "");
        if object["spec"]["capacity"].as_object().is_none_or(serde_json::Map::is_empty) {
            errors.push(required("spec.capacity", ""));
        }
        errors
    },
    ..NONE
};

/// `v1` PersistentVolumeClaim
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
        let spec = &object["spec"];
        let mut errors = access_modes(spec, "spec", "at least 1 access mode is required");
        if spec["resources"]["requests"]["storage"].is_null() {
            errors.push(required("spec.resources[storage]", ""));
        }
        errors
    },
    immutable: |object, old| {
        const WHY: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
                           for bound claims";
        let rest = |object: &Value| {
            let mut spec = object["spec"].clone();
            if let Some(spec) = spec.as_object_mut() {
                spec.retain(|name, _| {
                    !matches!(name.as_str(), "resources" | "volumeAttributesClassName" | "volumeName")
                });
            }
            spec
        };
        // A claim is bound once.
        let bound = &old["spec"]["volumeName"];
        let rebound = !bound.is_null() && object["spec"]["volumeName"] != *bound;
        if rebound || rest(object) != rest(old) { vec![forbidden("spec", WHY)] } else { Vec::new() }
    },
    ..NONE
};

fn access_modes(spec: &Value, path: &str, why: &str) -> Vec<FieldError> {
    const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = spec["accessModes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let path = format!("{path}.accessModes");
    if modes.is_empty() {
        return vec![required(path, why)];
    }
    let unknown = modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode)));
    unknown.map(|mode| FieldError::not_supported(&path, mode, &MODES.map(Value::from))).collect()
}

/// The source of a claim's data has an older and a newer field, which say the same.
fn data_sources(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    let set = |value: Option<&Value>| value.filter(|value| value.is_object()).cloned();
    match (set(spec.get("dataSource")), set(spec.get("dataSourceRef"))) {
        (Some(source), None) => drop(spec.insert("dataSourceRef".into(), source)),
        (None, Some(source)) if source["namespace"].as_str().is_none_or(str::is_empty) => {
            spec.insert("dataSource".into(), source);
        }
        _ => {}
    }
}
