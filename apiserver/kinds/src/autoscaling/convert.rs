//! Conversion between `autoscaling/v1` and `autoscaling/v2`. In `autoscaling/v1`, annotations hold the fields that it
//! lacks.

use crate::types::go_text;
use machinery::meta;
use serde_json::{Map, Value, json};

use super::metrics::{self, SOURCES, STATUSES};
use crate::decode;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The annotations that the conversion generates from fields. Values of clients under these names on a v2 object are
/// removed.
const MADE: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

const CONDITION: &str = "autoscaling.v1.HorizontalPodAutoscalerCondition";

/// Returns the autoscaler in `version`. An object whose `spec` or `status` is not an object only gets the new
/// `apiVersion`.
pub(crate) fn in_version(mut object: Value, version: &str) -> Value {
    let fits = ["spec", "status"].iter().all(|part| object[part].is_null() || object[part].is_object());
    match (meta::group_version(meta::api_version(&object)).1, version) {
        ("v2", "v1") if fits => to_v1(&mut object),
        ("v1", "v2") if fits => to_v2(&mut object),
        _ => {}
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), format!("autoscaling/{version}").into());
    }
    object
}

fn list<'v>(object: &'v Value, part: &str, field: &str) -> &'v [Value] {
    object[part][field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns whether the metric is the CPU usage, for which `autoscaling/v1` has fields.
fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn is_cpu_target(metric: &Value) -> bool {
    is_cpu(metric) && metric["resource"]["target"]["averageUtilization"].is_number()
}

fn to_v1(object: &mut Value) {
    take_annotations(object);
    let mut made = Map::new();
    let mut note = |name: &str, items: Vec<String>| {
        if !items.is_empty() {
            made.insert(name.to_owned(), format!("[{}]", items.join(",")).into());
        }
    };
    let others = list(object, "spec", "metrics").iter().filter(|metric| !is_cpu_target(metric));
    note(METRICS, others.map(|metric| metrics::older(SOURCES, metric)).collect());
    let current = list(object, "status", "currentMetrics").iter();
    note(CURRENT_METRICS, current.map(|metric| metrics::older(STATUSES, metric)).collect());
    let conditions = list(object, "status", "conditions").iter();
    note(CONDITIONS, conditions.map(|condition| go_text(CONDITION, condition)).collect());
    if object["spec"]["behavior"].is_object() {
        made.insert(BEHAVIOR.to_owned(), metrics::behavior_text(&object["spec"]["behavior"]).into());
    }
    let target = list(object, "spec", "metrics").iter().find(|metric| is_cpu_target(metric));
    let target = target.map(|metric| metric["resource"]["target"]["averageUtilization"].clone());
    let share = |metric: &Value| metric["resource"]["current"]["averageUtilization"].as_i64();
    let used = list(object, "status", "currentMetrics")
        .iter()
        .filter(|metric| is_cpu(metric))
        .filter_map(share)
        .next_back();
    keep(object, "spec", &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    keep(object, "status", &["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"]);
    if let Some(target) = target {
        object["spec"]["targetCPUUtilizationPercentage"] = target;
    }
    if let Some(used) = used {
        object["status"]["currentCPUUtilizationPercentage"] = used.into();
    }
    if object["status"].is_object() && object["status"]["currentReplicas"].is_null() {
        object["status"]["currentReplicas"] = 0.into();
    }
    if let (false, Some(metadata)) = (made.is_empty(), meta::metadata_mut(object)) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations.as_object_mut().into_iter().for_each(|map| map.extend(made.clone()));
    }
}

fn to_v2(object: &mut Value) {
    let mut annotations = take_annotations(object);
    let mut read = |name: &str| annotations.remove(name).and_then(|text| parse(text.as_str()?));
    let cpu = |field: &str, how: &str, share: &Value| {
        json!({"type": "Resource", "resource": {"name": "cpu", field: match how {
            "" => json!({"averageUtilization": share}),
            how => json!({"type": how, "averageUtilization": share}),
        }}})
    };
    let target = object["spec"]["targetCPUUtilizationPercentage"].clone();
    let mut wanted: Vec<Value> =
        read(METRICS).and_then(|list| metrics::newer(SOURCES, list)).unwrap_or_default();
    if target.is_number() {
        wanted.push(cpu("target", "Utilization", &target));
    }
    if wanted.is_empty() {
        wanted.push(cpu("target", "Utilization", &80.into()));
    }
    let used = object["status"]["currentCPUUtilizationPercentage"].clone();
    let mut current: Vec<Value> = Vec::new();
    if used.is_number() {
        current.push(cpu("current", "", &used));
    }
    if let Some(list) = read(CURRENT_METRICS).and_then(|list| metrics::newer(STATUSES, list)) {
        current = list;
    }
    let conditions =
        read(CONDITIONS).and_then(|list| decode::read_list(CONDITION, list).ok()).unwrap_or_default();
    let behavior = read(BEHAVIOR).and_then(metrics::behavior);
    keep(object, "spec", &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    keep(object, "status", &["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"]);
    object["spec"]["metrics"] = wanted.into();
    if let Some(behavior) = behavior {
        object["spec"]["behavior"] = behavior;
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    if status.get("currentReplicas").and_then(Value::as_i64) == Some(0) {
        status.remove("currentReplicas");
    }
    status.insert("currentMetrics".into(), if current.is_empty() { Value::Null } else { current.into() });
    if !conditions.is_empty() {
        status.insert("conditions".into(), conditions.into());
    }
}

/// Returns the parsed JSON, or `None` if the text is not JSON.
fn parse(text: &str) -> Option<Value> {
    machinery::decode::json(text.as_bytes()).ok().map(|decoded| decoded.value)
}

fn keep(object: &mut Value, part: &str, fields: &[&str]) {
    if let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) {
        part.retain(|name, _| fields.contains(&name.as_str()));
    }
}

/// Removes the annotations in [`MADE`] and returns them.
pub(crate) fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut taken = Map::new();
    let Some(metadata) = meta::metadata_mut(object) else { return taken };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
        return taken;
    };
    for name in MADE {
        taken.extend(annotations.remove(name).map(|text| (name.to_owned(), text)));
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    taken
}
