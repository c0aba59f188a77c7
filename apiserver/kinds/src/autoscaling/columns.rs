//! Columns of HorizontalPodAutoscalers.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, number, or};

pub(crate) fn autoscaler() -> Vec<Column> {
    let reference = |one: &Value, _| {
        let target = &one["spec"]["scaleTargetRef"];
        format!("{}/{}", text(target, &["kind"]), text(target, &["name"])).into()
    };
    let minimum = |one: &Value, _| {
        let found = one["spec"]["minReplicas"].as_i64();
        found.map_or("<unset>".into(), |count| count.to_string().into())
    };
    vec![
        NAME,
        column("Reference", "What it scales.", reference),
        column("Targets", "Current and target values.", targets),
        column("MinPods", "The fewest pods.", minimum),
        column("MaxPods", "The most pods.", |one, _| {
            one["spec"]["maxReplicas"].as_i64().unwrap_or_default().into()
        }),
        column("Replicas", "The pods that there are.", |one, _| number(one, "currentReplicas")),
        AGE,
    ]
}

/// The cell shows at most this many metrics.
const TARGETS_MAX: usize = 2;

/// Lists measured and target value of each metric.
fn targets(autoscaler: &Value, _: DateTime<Utc>) -> Value {
    let metrics = autoscaler["spec"]["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    if metrics.is_empty() {
        return "<none>".into();
    }
    let measured = autoscaler["status"]["currentMetrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = metrics.iter().enumerate().take(TARGETS_MAX);
    let shown = shown.map(|(index, metric)| target(metric, measured.get(index).unwrap_or(&Value::Null)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if metrics.len() > TARGETS_MAX {
        text.push_str(&format!(" + {} more...", metrics.len() - TARGETS_MAX));
    }
    text.into()
}

fn target(metric: &Value, measured: &Value) -> String {
    let (part, named) = match text(metric, &["type"]) {
        "Resource" => ("resource", text(metric, &["resource", "name"])),
        "ContainerResource" => ("containerResource", text(metric, &["containerResource", "name"])),
        "Pods" => ("pods", ""),
        "Object" => ("object", ""),
        "External" => ("external", ""),
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, current) = (&metric[part]["target"], &measured[part]["current"]);
    let average = !wanted["averageValue"].is_null();
    let shown = if wanted["averageUtilization"].is_null() || average {
        let field = if average { "averageValue" } else { "value" };
        let suffix = if average && matches!(part, "object" | "external") { " (avg)" } else { "" };
        format!("{}/{}{suffix}", or(text(current, &[field]), "<unknown>"), text(wanted, &[field]))
            .replace('"', "")
    } else {
        let found = current["averageUtilization"].as_i64();
        let found = found.map_or_else(|| "<unknown>".to_owned(), |percent| format!("{percent}%"));
        format!("{found}/{}%", wanted["averageUtilization"])
    };
    if named.is_empty() { shown } else { format!("{named}: {shown}") }
}
