//! StatefulSets.

use machinery::field::FieldError;
use serde_json::{Value, json};

use super::counters;
use super::template::{rolling, validate};
use crate::fields::{forbidden, internal, invalid, remove};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::storage::claim;
use crate::strategy::rules::{NONE, Rules};

/// `apps/v1` StatefulSet.
pub(crate) const STATEFUL_SET: Rules = Rules {
    drop_gated: |object| {
        drop_gated(object, "/spec/template/spec");
        remove(object, "/spec/updateStrategy/rollingUpdate", "maxUnavailable");
    },
    check_name: machinery::names::dns1123_label,
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["updateStrategy"], &json!({"partition": 0}));
        let claims = object["spec"].get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
        for claim in claims.into_iter().flatten() {
            let Some(claim) = claim.as_object_mut() else { continue };
            claim.insert("apiVersion".into(), "v1".into());
            claim.insert("kind".into(), "PersistentVolumeClaim".into());
            claim.insert("status".into(), json!({"phase": "Pending"}));
        }
    },
    validate: |object| {
        let mut errors = validate(object, "statefulset");
        errors.extend(stateful(&object["spec"]));
        errors
    },
    validate_new: |object| {
        let mut errors = Vec::new();
        let templates =
            object["spec"]["volumeClaimTemplates"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, claim) in templates.iter().enumerate() {
            claim::claim(&claim["spec"], &format!("spec.volumeClaimTemplates[{index}].spec"), &mut errors);
        }
        errors
    },
    immutable: kept_of_stateful_sets,
    status: Some(counters::of_stateful_set),
    ..NONE
};

/// Validates fields that only StatefulSets have.
fn stateful(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = &spec["podManagementPolicy"];
    if !matches!(policy.as_str(), Some("OrderedReady" | "Parallel")) {
        errors.push(invalid(
            "spec.podManagementPolicy",
            policy.clone(),
            "must be 'OrderedReady' or 'Parallel'",
        ));
    }
    let strategy = &spec["updateStrategy"];
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str() {
        Some("OnDelete") if rolling.is_object() => {
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            let (field, ty) = ("spec.updateStrategy.rollingUpdate", "apps.RollingUpdateStatefulSetStrategy");
            errors.push(internal(field.into(), ty, rolling, why));
        }
        Some("OnDelete" | "RollingUpdate") => {}
        _ => {
            let mut error =
                invalid("spec.updateStrategy", Value::Null, "must be 'RollingUpdate' or 'OnDelete'");
            let rolling = match rolling.is_object() {
                true => format!(
                    "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
                    rolling["partition"], rolling["maxUnavailable"]
                ),
                false => "null".to_owned(),
            };
            error.value = Some(format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"]));
            errors.push(error);
        }
    }
    errors
}

/// Returns an error if an update of a StatefulSet changes an immutable field of its spec.
fn kept_of_stateful_sets(object: &Value, old: &Value) -> Vec<FieldError> {
    const OPEN: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let rest = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|name, _| !OPEN.contains(&name.as_str()));
        }
        spec
    };
    if rest(object) == rest(old) {
        return Vec::new();
    }
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
               'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![forbidden("spec", why)]
}
