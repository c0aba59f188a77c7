//! Columns of workload kinds, by the rules of kube-apiserver's printer.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use machinery::selector::show_object;
use serde_json::Value;

use crate::columns::{AGE, Column, Compute, NAME, column, counter, number, or, plain, wide};
use crate::pods::columns::each;

/// Returns the columns of a kind in one of these groups; `None` if the columns of its definition apply.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "ReplicationController") | ("apps", "ReplicaSet") => replicas(),
        ("apps", "Deployment") => deployment(),
        ("apps", "DaemonSet") => daemon_set(),
        ("apps", "StatefulSet") => stateful_set(),
        ("apps", "ControllerRevision") => vec![
            NAME,
            column("Controller", "Whose revision it is.", controller),
            column("Revision", "The number of the revision.", |one, _| one["revision"].clone()),
            AGE,
        ],
        ("policy", "PodDisruptionBudget") => vec![
            NAME,
            column("Min Available", "Pods that must be available.", |one, _| bound(one, "minAvailable")),
            column("Max Unavailable", "Pods that may be unavailable.", |one, _| bound(one, "maxUnavailable")),
            counter("Allowed Disruptions", "Pods that may be evicted now.", |one, _| {
                number(one, "disruptionsAllowed")
            }),
            AGE,
        ],
        _ => return None,
    })
}

/// Returns the columns for containers, images and the selector, which only `-o wide` shows.
fn details(selector: Option<Compute>) -> Vec<Column> {
    let mut columns = vec![
        wide(column("Containers", "Names of the containers in its template.", |one, _| {
            each_container(one, "name").into()
        })),
        wide(column("Images", "Images of the containers in its template.", |one, _| {
            each_container(one, "image").into()
        })),
    ];
    columns.extend(selector.map(|cell| wide(column("Selector", "Selector of its pods.", cell))));
    columns
}

fn each_container(one: &Value, field: &str) -> String {
    let template = match one["spec"].get("jobTemplate") {
        Some(job) => &job["spec"]["template"],
        None => &one["spec"]["template"],
    };
    each(template, field)
}

pub(crate) fn selector(one: &Value, _: DateTime<Utc>) -> Value {
    or(&show_object(&one["spec"]["selector"]), "<none>")
}

pub(crate) fn with(mut columns: Vec<Column>, selector: Option<Compute>) -> Vec<Column> {
    columns.extend(details(selector));
    columns
}

pub(crate) fn deployment() -> Vec<Column> {
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
pub(crate) fn replicas() -> Vec<Column> {
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

pub(crate) fn stateful_set() -> Vec<Column> {
    let columns = vec![NAME, column("Ready", "How many of the wanted pods are ready.", ready), AGE];
    with(columns, None)
}

pub(crate) fn daemon_set() -> Vec<Column> {
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

fn controller(revision: &Value, _: DateTime<Utc>) -> Value {
    let mut owners = machinery::meta::owner_references(revision).iter();
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else { return "<none>".into() };
    let (group, _) = machinery::meta::group_version(text(owner, &["apiVersion"]));
    let kind = text(owner, &["kind"]).to_lowercase();
    let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
    format!("{kind}/{}", text(owner, &["name"])).into()
}

fn bound(one: &Value, field: &str) -> Value {
    let found = &one["spec"][field];
    if found.is_null() { "N/A".into() } else { plain(found).into() }
}
