//! Validation of the counters in a status, as kube-apiserver does it.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{self, invalid};

const ALL: &str = "status.replicas";

fn number(status: &Value, field: &str) -> i64 {
    status[field].as_i64().unwrap_or(0)
}

/// Requires that the fields of a status are not negative.
fn natural(status: &Value, fields: &[&str]) -> Vec<FieldError> {
    let below = fields.iter().filter(|field| number(status, field) < 0);
    let why = "must be greater than or equal to 0";
    below.map(|field| invalid(format!("status.{field}"), number(status, field), why)).collect()
}

/// Requires that the count `small` is not greater than the count `large`, which the error calls `shown`.
fn within(status: &Value, small: &str, large: &str, shown: &str) -> Option<FieldError> {
    let value = number(status, small);
    let why = format!("cannot be greater than {shown}");
    (value > number(status, large)).then(|| invalid(format!("status.{small}"), value, why))
}

/// Requires that `collisionCount` is not negative and never decreases.
fn collisions(status: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = natural(status, &["collisionCount"]);
    let (now, before) = (&status["collisionCount"], old["collisionCount"].as_i64());
    if before.is_some_and(|before| now.as_i64().is_none_or(|now| now < before)) {
        errors.push(invalid("status.collisionCount", now.clone(), "cannot be decremented"));
    }
    errors
}

/// Validates the status of an `apps/v1` Deployment.
pub(crate) fn of_deployment(object: &Value, old: &Value) -> Vec<FieldError> {
    let status = &object["status"];
    let counted = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
    ];
    let mut errors = natural(status, &counted);
    errors.extend(natural(status, &["collisionCount"]));
    for field in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        errors.extend(within(status, field, "replicas", ALL));
    }
    errors.extend(within(status, "availableReplicas", "readyReplicas", "readyReplicas"));
    errors.extend(
        collisions(status, &old["status"]).into_iter().filter(|error| error.detail.starts_with("cannot")),
    );
    errors
}

/// Validates the status of an `apps/v1` ReplicaSet or a `v1` ReplicationController.
pub(crate) fn of_replica_set(object: &Value, _: &Value) -> Vec<FieldError> {
    let status = &object["status"];
    let counted = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let mut errors = natural(status, &counted);
    for field in ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] {
        errors.extend(within(status, field, "replicas", ALL));
    }
    errors.extend(within(status, "availableReplicas", "readyReplicas", "readyReplicas"));
    errors
}

/// Validates the status of an `apps/v1` StatefulSet.
pub(crate) fn of_stateful_set(object: &Value, old: &Value) -> Vec<FieldError> {
    let status = &object["status"];
    let counted = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let mut errors = natural(status, &counted);
    for field in ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] {
        errors.extend(within(status, field, "replicas", ALL));
    }
    errors.extend(within(status, "availableReplicas", "readyReplicas", "status.readyReplicas"));
    errors.extend(
        collisions(status, &old["status"]).into_iter().filter(|error| error.detail.starts_with("cannot")),
    );
    errors
}

/// Validates the status of an `apps/v1` DaemonSet.
pub(crate) fn of_daemon_set(object: &Value, old: &Value) -> Vec<FieldError> {
    let status = &object["status"];
    let counted = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
    ];
    let mut errors = natural(status, &counted);
    errors.extend(collisions(status, &old["status"]));
    errors
}

/// Validates the status of a `policy/v1` PodDisruptionBudget.
pub(crate) fn of_budget(object: &Value, _: &Value) -> Vec<FieldError> {
    let status = &object["status"];
    let counted = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
    let mut errors = natural(status, &counted);
    for (index, condition) in status["conditions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("status.conditions[{index}]");
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        if text("type").is_empty() {
            errors.push(fields::required(format!("{path}.type"), ""));
        } else {
            let problems = machinery::names::qualified_name(text("type"));
            errors.extend(problems.into_iter().map(|why| invalid(format!("{path}.type"), text("type"), why)));
        }
        let states = ["True", "False", "Unknown"];
        if !states.contains(&text("status")) {
            let mut allowed = states;
            allowed.sort_unstable();
            let field = format!("{path}.status");
            errors.push(FieldError::not_supported(field, &condition["status"], &allowed.map(Value::from)));
        }
        if text("reason").is_empty() {
            errors.push(fields::required(format!("{path}.reason"), ""));
        }
    }
    errors
}
