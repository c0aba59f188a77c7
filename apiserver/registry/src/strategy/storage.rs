//! Volumes and claims. New ones wait for a partner. Nothing here notices when they are no longer in use, so they get no finalizer
//! that would protect them until then.

use serde_json::{Value, json};

use super::known::{NONE, Rules};

/// `v1` PersistentVolume
pub(super) const VOLUME: Rules = Rules {
    prepare: |object| {
        let created = object["metadata"]["creationTimestamp"].clone();
        object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": created});
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
    ..NONE
};

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
