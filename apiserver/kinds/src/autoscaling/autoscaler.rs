//! HorizontalPodAutoscalers, which are stored as `autoscaling/v2` and also served as `autoscaling/v1`.

use machinery::field::FieldError;
use serde_json::{Value, json};

use super::convert::{self, in_version};
use crate::fields::{forbidden, invalid, required};
use crate::strategy::rules::{NONE, Rules};

/// `autoscaling/v2` HorizontalPodAutoscaler.
pub(crate) const AUTOSCALER: Rules = Rules {
    in_version: Some(in_version),
    normalize,
    validate,
    validate_new: |autoscaler| validate_target(&autoscaler["spec"]["scaleTargetRef"]),
    immutable: |autoscaler, old| {
        let (now, before) = (&autoscaler["spec"]["scaleTargetRef"], &old["spec"]["scaleTargetRef"]);
        let same = ["apiVersion", "kind"].iter().all(|field| now[field] == before[field]);
        if same { Vec::new() } else { validate_target(now) }
    },
    ..NONE
};

/// The `apiVersion` that is stored.
const STORED: &str = "autoscaling/v2";

/// Requires an API group in `scaleTargetRef.apiVersion`, except for ReplicationControllers, which are in the core
/// group.
fn validate_target(target: &Value) -> Vec<FieldError> {
    let version = target["apiVersion"].as_str().unwrap_or_default();
    if version.contains('/') || target["kind"] == "ReplicationController" {
        return Vec::new();
    }
    vec![invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")]
}

/// Validates that the replica limits agree, that targets are positive, and that scale rules have policies.
fn validate(autoscaler: &Value) -> Vec<FieldError> {
    let spec = &autoscaler["spec"];
    let mut errors = Vec::new();
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or_default());
    let metrics = spec["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let outside = metrics.iter().any(|metric| metric["type"] == "Object" || metric["type"] == "External");
    if least == Some(0) && !outside {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(forbidden("spec.metrics", why));
    }
    if least.is_some_and(|least| least < 1) {
        errors.push(invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
    }
    if most < 1 {
        errors.push(required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(invalid("spec.maxReplicas", most, why));
    }
    for (index, metric) in metrics.iter().enumerate() {
        for source in ["resource", "containerResource"] {
            let share = metric[source]["target"]["averageUtilization"].as_i64();
            if let Some(share) = share.filter(|share| *share < 1) {
                let field = format!("spec.metrics[{index}].{source}.target.averageUtilization");
                errors.push(invalid(field, share, "must be greater than 0"));
            }
        }
    }
    for rules in ["scaleUp", "scaleDown"] {
        let found = &spec["behavior"][rules];
        if found.is_object() && found["policies"].as_array().is_none_or(Vec::is_empty) {
            let field = format!("spec.behavior.{rules}.policies");
            errors.push(required(field, "must specify at least one Policy"));
        }
    }
    errors
}

/// Fills in the default metric and the missing parts of a given `behavior`.
fn normalize(autoscaler: &mut Value) {
    if autoscaler["apiVersion"] != STORED {
        // The field manager of a v1 client owns the fields that a v1 read returns, so the object makes the round trip
        // through v2.
        *autoscaler = in_version(in_version(autoscaler.take(), "v2"), "v1");
        return;
    }
    convert::take_annotations(autoscaler);
    let Some(spec) = autoscaler.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if spec.get("metrics").is_none_or(|metrics| metrics.as_array().is_none_or(Vec::is_empty)) {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        spec.insert(
            "metrics".into(),
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]),
        );
    }
    let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) else { return };
    let all = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let four = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    fill(&mut behavior["scaleUp"], &[four, all.clone()], Some(0));
    fill(&mut behavior["scaleDown"], &[all], None);
}

fn fill(rules: &mut Value, policies: &[Value], window: Option<i64>) {
    if !rules.is_object() {
        *rules = json!({});
    }
    let Some(rules) = rules.as_object_mut() else { return };
    rules.entry("selectPolicy").or_insert_with(|| "Max".into());
    if let Some(window) = window {
        rules.entry("stabilizationWindowSeconds").or_insert_with(|| window.into());
    }
    if rules.get("policies").is_none_or(Value::is_null) {
        rules.insert("policies".into(), policies.into());
    }
}
