//! Columns of workload kinds, by the rules of kube-apiserver's printer.

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use machinery::meta::text;
use machinery::selector::show_object;
use machinery::table::human_duration;
use serde_json::Value;

use super::{AGE, Column, NAME, age, column, counter, number, or, wide};

/// Returns the columns for containers, images and the selector, which only `-o wide` shows.
fn details(selector: Option<super::Compute>) -> Vec<Column> {
    let mut columns = vec![
        wide(column("Containers", "Names of the containers in its template.", |one, _| {
            each_container(one, "name").into()
        })),
        wide(column("Images", "Images of the containers in its template.", |one, _| {
            each_container(one, "image").into()
        })),
    ];
    columns.extend(selector.map(|cell| wide(column("Selector", "Which pods are its own.", cell))));
    columns
}

fn each_container(one: &Value, field: &str) -> String {
    let template = match one["spec"].get("jobTemplate") {
        Some(job) => &job["spec"]["template"],
        None => &one["spec"]["template"],
    };
    each(template, field)
}

/// Returns a field of each container of a template, separated by commas.
pub(super) fn each(template: &Value, field: &str) -> String {
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    containers.map(|container| text(container, &[field])).collect::<Vec<_>>().join(",")
}

fn selector(one: &Value, _: DateTime<Utc>) -> Value {
    or(&show_object(&one["spec"]["selector"]), "<none>")
}

fn with(mut columns: Vec<Column>, selector: Option<super::Compute>) -> Vec<Column> {
    columns.extend(details(selector));
    columns
}

pub(super) fn deployment() -> Vec<Column> {
    let columns = vec![
        NAME,
        column("Ready", "How many of the wanted pods are ready.", ready),
        column("Up-to-date", "Pods of the current template.", |one, _| number(one, "updatedReplicas")),
        column("Available", "Pods that are available.", |one, _| number(one, "availableReplicas")),
        AGE,
    ];
    with(columns, Some(selector))
}

fn ready(one: &Value, _: DateTime<Utc>) -> Value {
    let wanted = one["spec"]["replicas"].as_i64().unwrap_or(1);
    format!("{}/{wanted}", number(one, "readyReplicas")).into()
}

/// Returns the columns of ReplicaSets and ReplicationControllers.
pub(super) fn replicas() -> Vec<Column> {
    let columns = vec![
        NAME,
        counter("Desired", "Pods that should run.", |one, _| {
            one["spec"]["replicas"].as_i64().unwrap_or_default().into()
        }),
        counter("Current", "Pods that there are.", |one, _| number(one, "replicas")),
        counter("Ready", "Pods that are ready.", |one, _| number(one, "readyReplicas")),
        AGE,
    ];
    with(columns, Some(selector))
}

pub(super) fn stateful_set() -> Vec<Column> {
    let columns = vec![NAME, column("Ready", "How many of the wanted pods are ready.", ready), AGE];
    with(columns, None)
}

pub(super) fn daemon_set() -> Vec<Column> {
    let nodes = |object: &Value, _| {
        let labels = object["spec"]["template"]["spec"]["nodeSelector"].as_object().into_iter().flatten();
        let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
        or(&labels.collect::<Vec<_>>().join(","), "<none>")
    };
    let columns = vec![
        NAME,
        counter("Desired", "Nodes that should run it.", |one, _| number(one, "desiredNumberScheduled")),
        counter("Current", "Nodes that run it.", |one, _| number(one, "currentNumberScheduled")),
        counter("Ready", "Nodes on which it is ready.", |one, _| number(one, "numberReady")),
        counter("Up-to-date", "Nodes that run the current template.", |one, _| {
            number(one, "updatedNumberScheduled")
        }),
        counter("Available", "Nodes on which it is available.", |one, _| number(one, "numberAvailable")),
        column("Node Selector", "Labels of the nodes that should run it.", nodes),
        AGE,
    ];
    with(columns, Some(selector))
}

pub(super) fn job() -> Vec<Column> {
    let completions = |job: &Value, _| {
        let done = number(job, "succeeded");
        match (job["spec"]["completions"].as_i64(), job["spec"]["parallelism"].as_i64().unwrap_or(0)) {
            (Some(wanted), _) => format!("{done}/{wanted}"),
            (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
            (None, _) => format!("{done}/1"),
        }
        .into()
    };
    let columns = vec![
        NAME,
        column("Status", "How far it is.", job_status),
        column("Completions", "How many of its pods are done.", completions),
        column("Duration", "How long it took, or takes until now.", job_duration),
        AGE,
    ];
    with(columns, Some(selector))
}

fn job_status(job: &Value, _: DateTime<Utc>) -> Value {
    let conditions = job["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["status"] == "True");
    let deleted = !text(job, &["metadata", "deletionTimestamp"]).is_empty();
    let named = [("Complete", "Complete"), ("Failed", "Failed")].into_iter().find(|(kind, _)| is(kind));
    let named = named.or(deleted.then_some(("", "Terminating")));
    let later = [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    named
        .or_else(|| later.into_iter().find(|(kind, _)| is(kind)))
        .map_or("Running", |(_, shown)| shown)
        .into()
}

fn job_duration(job: &Value, now: DateTime<Utc>) -> Value {
    let at = |field: &str| parse_rfc3339(text(job, &["status", field]));
    match (at("startTime"), at("completionTime")) {
        (None, _) => "".into(),
        (Some(start), end) => human_duration(end.unwrap_or(now) - start).into(),
    }
}

pub(super) fn cron_job() -> Vec<Column> {
    let last = |job: &Value, now| {
        let time = text(job, &["status", "lastScheduleTime"]);
        if time.is_empty() { "<none>".into() } else { age(time, now) }
    };
    let columns = vec![
        NAME,
        column("Schedule", "When it runs, as cron writes it.", |job, _| {
            text(job, &["spec", "schedule"]).into()
        }),
        column("Timezone", "Whose clock that is.", |job, _| or(text(job, &["spec", "timeZone"]), "<none>")),
        Column {
            kind: "boolean",
            ..column("Suspend", "Whether it rests.", |job, _| {
                if job["spec"]["suspend"] == true { "True" } else { "False" }.into()
            })
        },
        counter("Active", "Jobs that run now.", |job, _| {
            job["status"]["active"].as_array().map_or(0, Vec::len).into()
        }),
        column("Last Schedule", "When it ran last.", last),
        AGE,
    ];
    with(columns, Some(|_, _| "<none>".into()))
}
