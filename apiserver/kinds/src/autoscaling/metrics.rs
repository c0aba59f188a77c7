//! Metrics and behavior of an autoscaler in the form that annotations of `autoscaling/v1` hold.

use crate::types::{escaped, go_text};
use serde_json::{Map, Value, json};

use crate::decode;
use crate::fields::at;

/// A metric source: its type, its field, and pairs of a field in `autoscaling/v1` and its path in `autoscaling/v2`.
type Sort = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The mapping for the metrics of one field.
#[derive(Clone, Copy)]
pub(crate) struct Metrics {
    /// The name of the `autoscaling/v1` type of one metric.
    older: &'static str,
    sorts: [Sort; 5],
}

/// The metrics of `spec.metrics`.
pub(crate) const SOURCES: Metrics = Metrics {
    older: "autoscaling.v1.MetricSpec",
    sorts: [
        (
            "Object",
            "object",
            &[
                ("target", "describedObject"),
                ("metricName", "metric.name"),
                ("targetValue", "target.value"),
                ("selector", "metric.selector"),
                ("averageValue", "target.averageValue"),
            ],
        ),
        (
            "Pods",
            "pods",
            &[
                ("metricName", "metric.name"),
                ("targetAverageValue", "target.averageValue"),
                ("selector", "metric.selector"),
            ],
        ),
        (
            "Resource",
            "resource",
            &[
                ("name", "name"),
                ("targetAverageUtilization", "target.averageUtilization"),
                ("targetAverageValue", "target.averageValue"),
            ],
        ),
        (
            "ContainerResource",
            "containerResource",
            &[
                ("name", "name"),
                ("targetAverageUtilization", "target.averageUtilization"),
                ("targetAverageValue", "target.averageValue"),
                ("container", "container"),
            ],
        ),
        (
            "External",
            "external",
            &[
                ("metricName", "metric.name"),
                ("metricSelector", "metric.selector"),
                ("targetValue", "target.value"),
                ("targetAverageValue", "target.averageValue"),
            ],
        ),
    ],
};

/// The metrics of `status.currentMetrics`.
pub(crate) const STATUSES: Metrics = Metrics {
    older: "autoscaling.v1.MetricStatus",
    sorts: [
        (
            "Object",
            "object",
            &[
                ("target", "describedObject"),
                ("metricName", "metric.name"),
                ("currentValue", "current.value"),
                ("selector", "metric.selector"),
                ("averageValue", "current.averageValue"),
            ],
        ),
        (
            "Pods",
            "pods",
            &[
                ("metricName", "metric.name"),
                ("currentAverageValue", "current.averageValue"),
                ("selector", "metric.selector"),
            ],
        ),
        (
            "Resource",
            "resource",
            &[
                ("name", "name"),
                ("currentAverageUtilization", "current.averageUtilization"),
                ("currentAverageValue", "current.averageValue"),
            ],
        ),
        (
            "ContainerResource",
            "containerResource",
            &[
                ("name", "name"),
                ("currentAverageUtilization", "current.averageUtilization"),
                ("currentAverageValue", "current.averageValue"),
                ("container", "container"),
            ],
        ),
        (
            "External",
            "external",
            &[
                ("metricName", "metric.name"),
                ("metricSelector", "metric.selector"),
                ("currentValue", "current.value"),
                ("currentAverageValue", "current.averageValue"),
            ],
        ),
    ],
};

/// Returns a metric of `autoscaling/v2` as the JSON text of its `autoscaling/v1` form.
pub(crate) fn older(metrics: Metrics, metric: &Value) -> String {
    let mut made = json!({"type": metric["type"]});
    for (_, field, places) in metrics.sorts {
        if !metric[field].is_object() {
            continue;
        }
        let pairs = places.iter().map(|(name, path)| ((*name).to_owned(), at(&metric[field], path).clone()));
        made[field] = Value::Object(pairs.filter(|(_, value)| !value.is_null()).collect());
    }
    go_text(metrics.older, &made)
}

/// Converts a list of metrics of `autoscaling/v1` to `autoscaling/v2`. Returns `None` if the list does not have that
/// type.
pub(crate) fn newer(metrics: Metrics, list: Value) -> Option<Vec<Value>> {
    let list = decode::read_list(metrics.older, list).ok()?;
    Some(list.iter().map(|metric| one_newer(metrics, metric)).collect())
}

fn one_newer(metrics: Metrics, metric: &Value) -> Value {
    let mut made = json!({"type": metric["type"].as_str().unwrap_or_default()});
    for (_, field, places) in metrics.sorts {
        let Some(found) = metric[field].as_object() else { continue };
        let mut into = json!({});
        for (name, path) in places {
            let Some(value) = found.get(*name) else { continue };
            let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
            match inner {
                "" => into[outer] = value.clone(),
                inner => into[outer][inner] = value.clone(),
            }
        }
        complete(metrics.older == SOURCES.older, field, &mut into);
        made[field] = into;
    }
    made
}

/// Fills in values that `autoscaling/v1` implies. `wanted` distinguishes metrics of the spec from those of the status.
fn complete(wanted: bool, field: &str, metric: &mut Value) {
    let zero = || Value::from("0");
    if !wanted {
        let value = if matches!(field, "object" | "external") { "value" } else { "averageValue" };
        let current = &mut metric["current"][value];
        if current.is_null() {
            *current = zero();
        }
        return;
    }
    let target = &mut metric["target"];
    let how = match field {
        "pods" => "AverageValue",
        "object" if target["averageValue"].is_null() => "Value",
        "external" if !target["value"].is_null() => "Value",
        "resource" | "containerResource" if !target["averageUtilization"].is_null() => "Utilization",
        _ => "AverageValue",
    };
    match field {
        "object" if how == "AverageValue" && target["value"] == "0" => target["value"] = Value::Null,
        "object" if how == "Value" && target["value"].is_null() => target["value"] = zero(),
        "pods" if target["averageValue"].is_null() => target["averageValue"] = zero(),
        _ => {}
    }
    target["type"] = how.into();
    if let Some(target) = target.as_object_mut() {
        target.retain(|_, value| !value.is_null());
    }
}

/// Field names of the behavior. In annotations they begin with capitals.
const NAMES: [&str; 9] = [
    "scaleUp",
    "scaleDown",
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "tolerance",
    "type",
    "value",
    "periodSeconds",
];

/// Returns the behavior as the text of its annotation.
pub(crate) fn behavior_text(behavior: &Value) -> String {
    let rules = |rules: &Value| {
        if !rules.is_object() {
            return "null".to_owned();
        }
        let policy = |policy: &Value| {
            let number = |field: &str| policy[field].as_i64().unwrap_or_default();
            let how = policy["type"].as_str().unwrap_or_default();
            format!(
                "{{\"Type\":{},\"Value\":{},\"PeriodSeconds\":{}}}",
                Value::from(how),
                number("value"),
                number("periodSeconds")
            )
        };
        let policies = rules["policies"].as_array().map_or("null".to_owned(), |list| {
            format!("[{}]", list.iter().map(policy).collect::<Vec<_>>().join(","))
        });
        format!(
            "{{\"StabilizationWindowSeconds\":{},\"SelectPolicy\":{},\"Policies\":{policies},\"Tolerance\":{}}}",
            rules["stabilizationWindowSeconds"], rules["selectPolicy"], rules["tolerance"]
        )
    };
    let (up, down) = (rules(&behavior["scaleUp"]), rules(&behavior["scaleDown"]));
    escaped(&format!("{{\"ScaleUp\":{up},\"ScaleDown\":{down}}}"))
}

/// Reads the behavior from its annotation. Returns `None` if the value has another type or neither scale rule is set.
pub(crate) fn behavior(value: Value) -> Option<Value> {
    let mut read = renamed(value);
    decode::read("autoscaling.v2.HorizontalPodAutoscalerBehavior", &mut read).ok()?;
    let says = read["scaleUp"].is_object() || read["scaleDown"].is_object();
    says.then_some(read)
}

/// Gives the fields their exact names, because Go matches field names regardless of case. Unknown fields are dropped.
fn renamed(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter_map(|(name, value)| {
                    let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(&name))?;
                    Some(((*known).to_owned(), renamed(value)))
                })
                .collect::<Map<_, _>>(),
        ),
        Value::Array(list) => Value::Array(list.into_iter().map(renamed).collect()),
        other => other,
    }
}
