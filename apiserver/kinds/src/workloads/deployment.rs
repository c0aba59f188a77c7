//! Deployments and ReplicaSets.

use machinery::field::FieldError;
use machinery::meta;
use serde_json::{Value, json};

use super::counters;
use super::template::{at_most_all, is_zero, rolling, same_selector, validate};
use crate::fields::{forbidden, invalid};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::strategy::rules::{NONE, Rules};

/// `apps/v1` Deployment.
pub(crate) const DEPLOYMENT: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/spec/template/spec"),
    normalize: |object| {
        default_template(&mut object["spec"]["template"]);
        rolling(&mut object["spec"]["strategy"], &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
    },
    validate: |object| {
        let mut errors = validate(object, "deployment");
        errors.extend(rollout(&object["spec"]));
        errors
    },
    immutable: same_selector,
    status: Some(counters::of_deployment),
    prepare_status: |object, old| {
        let Some(metadata) = meta::metadata_mut(object) else { return };
        match old["metadata"].get("labels") {
            Some(labels) => drop(metadata.insert("labels".into(), labels.clone())),
            None => drop(metadata.remove("labels")),
        }
    },
    ..NONE
};

/// `apps/v1` ReplicaSet.
pub(crate) const REPLICA_SET: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/spec/template/spec"),
    normalize: |object| default_template(&mut object["spec"]["template"]),
    validate: |object| validate(object, "deployment"),
    immutable: same_selector,
    status: Some(counters::of_replica_set),
    ..NONE
};

/// Validates the strategy of a Deployment and its progress deadline.
fn rollout(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let strategy = &spec["strategy"];
    let shown = |strategy: &Value| {
        let rolling = &strategy["rollingUpdate"];
        let rolling = match rolling.is_object() {
            true => format!(
                "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
                rolling["maxUnavailable"], rolling["maxSurge"]
            ),
            false => "null".to_owned(),
        };
        format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", strategy["type"])
    };
    match strategy["type"].as_str() {
        Some("Recreate") if strategy["rollingUpdate"].is_object() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(forbidden("spec.strategy.rollingUpdate", why));
        }
        Some("Recreate") => {}
        Some("RollingUpdate") => {
            let (path, rolling) = ("spec.strategy.rollingUpdate", &strategy["rollingUpdate"]);
            errors.extend(no_step(path, rolling, "may not be 0 when `maxSurge` is 0"));
            errors.extend(at_most_all(&rolling["maxUnavailable"], &format!("{path}.maxUnavailable")));
        }
        _ => {
            let allowed = ["Recreate".into(), "RollingUpdate".into()];
            let mut error = FieldError::not_supported("spec.strategy", &Value::Null, &allowed);
            error.value = Some(shown(strategy));
            errors.push(error);
        }
    }
    let ready = spec["minReadySeconds"].as_i64().unwrap_or(0);
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64().filter(|deadline| *deadline <= ready) {
        errors.push(invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            "must be greater than minReadySeconds",
        ));
    }
    errors
}

/// Refuses a rolling update that can neither add nor remove pods.
fn no_step(path: &str, rolling: &Value, why: &str) -> Option<FieldError> {
    let stuck = rolling.is_object() && is_zero(&rolling["maxSurge"]) && is_zero(&rolling["maxUnavailable"]);
    stuck.then(|| invalid(format!("{path}.maxUnavailable"), rolling["maxUnavailable"].clone(), why))
}
