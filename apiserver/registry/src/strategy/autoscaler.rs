//! HorizontalPodAutoscalers.

use serde_json::{Value, json};

use super::known::{NONE, Rules};

/// `autoscaling/v2` HorizontalPodAutoscaler
pub(super) const AUTOSCALER: Rules = Rules { normalize, ..NONE };

/// Whoever says something about the behaviour gets the rest of it filled in.
fn normalize(autoscaler: &mut Value) {
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
