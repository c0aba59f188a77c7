//! Table columns of built-in kinds whose cells are computed, as in kube-apiserver's printers.

mod extension;
mod node;
mod others;
mod pod;
mod service;
mod storage;
mod workload;

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

/// Computes one cell.
pub(crate) type Compute = fn(&Value, DateTime<Utc>) -> Value;

/// One column: heading, type, format, description, priority, cell.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) format: &'static str,
    pub(crate) description: &'static str,
    pub(crate) priority: i64,
    pub(crate) cell: Compute,
}

const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "Unique among the objects of this kind in its namespace.",
    priority: 0,
    cell: |object, _| machinery::meta::name(object).into(),
};

const AGE: Column = column("Age", "How long the object has existed.", |object, now| {
    age(text(object, &["metadata", "creationTimestamp"]), now)
});

const CREATED: Column = Column {
    kind: "date",
    ..column("Created At", "When the object was created.", |object, _| {
        text(object, &["metadata", "creationTimestamp"]).into()
    })
};

const fn column(name: &'static str, description: &'static str, cell: Compute) -> Column {
    Column { name, kind: "string", format: "", description, priority: 0, cell }
}

const fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

/// Returns the columns of a built-in kind; `None` if the columns of its definition apply.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "ConfigMap") => {
            let data = |object: &Value, _| (count(object, "data") + count(object, "binaryData")).into();
            vec![NAME, column("Data", "How many keys it has.", data), AGE]
        }
        ("", "Secret") => {
            let data = |object: &Value, _| count(object, "data").into();
            let kind =
                column("Type", "What kind of secret it is.", |object, _| text(object, &["type"]).into());
            vec![NAME, kind, column("Data", "How many keys it has.", data), AGE]
        }
        ("", "ServiceAccount") => vec![NAME, AGE],
        ("", "Namespace") => {
            let phase = |object: &Value, _| text(object, &["status", "phase"]).into();
            vec![NAME, column("Status", "The status of the namespace", phase), AGE]
        }
        ("", "Node") => node::columns(),
        ("", "Pod") => pod::columns(),
        ("", "Service") => service::service(),
        ("", "Endpoints") => service::endpoints(),
        ("discovery.k8s.io", "EndpointSlice") => service::endpoint_slice(),
        ("networking.k8s.io", "Ingress") => service::ingress(),
        ("networking.k8s.io", "IngressClass") => service::ingress_class(),
        ("networking.k8s.io", "NetworkPolicy") => service::network_policy(),
        ("", "PersistentVolume") => storage::volume(),
        ("", "PersistentVolumeClaim") => storage::claim(),
        ("storage.k8s.io", "StorageClass") => storage::class(),
        ("storage.k8s.io", "VolumeAttachment") => storage::attachment(),
        ("", "LimitRange") => vec![NAME, CREATED],
        ("", "ReplicationController") | ("apps", "ReplicaSet") => workload::replicas(),
        ("apps", "Deployment") => workload::deployment(),
        ("apps", "DaemonSet") => workload::daemon_set(),
        ("apps", "StatefulSet") => workload::stateful_set(),
        ("batch", "Job") => workload::job(),
        ("batch", "CronJob") => workload::cron_job(),
        (
            "admissionregistration.k8s.io"
            | "apiregistration.k8s.io"
            | "autoscaling"
            | "certificates.k8s.io"
            | "policy"
            | "scheduling.k8s.io",
            kind,
        ) => extension::of(kind)?,
        ("coordination.k8s.io", "Lease") => {
            let holder = |object: &Value, _| text(object, &["spec", "holderIdentity"]).into();
            vec![NAME, column("Holder", "Who holds the lease.", holder), AGE]
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
        | ("apiextensions.k8s.io", "CustomResourceDefinition") => vec![NAME, CREATED],
        ("rbac.authorization.k8s.io", "RoleBinding") => binding("roleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => binding("clusterRoleBinding"),
        ("" | "events.k8s.io", "Event") => event(),
        (
            ""
            | "apps"
            | "flowcontrol.apiserver.k8s.io"
            | "networking.k8s.io"
            | "node.k8s.io"
            | "resource.k8s.io"
            | "storage.k8s.io",
            kind,
        ) => others::of(kind)?,
        _ => return None,
    })
}

fn count(object: &Value, field: &str) -> usize {
    object[field].as_object().map_or(0, serde_json::Map::len)
}

fn age(time: &str, now: DateTime<Utc>) -> Value {
    parse_rfc3339(time).map_or_else(|| "<unknown>".into(), |time| human_duration(now - time).into())
}

/// Returns `text`, or `otherwise` if it is empty.
fn or(text: &str, otherwise: &str) -> Value {
    if text.is_empty() { otherwise } else { text }.into()
}

/// Returns a number from the status; 0 if absent.
fn number(object: &Value, field: &str) -> Value {
    object["status"][field].as_i64().unwrap_or_default().into()
}

fn counter(name: &'static str, description: &'static str, cell: Compute) -> Column {
    Column { kind: "integer", ..column(name, description, cell) }
}

fn binding(kind: &'static str) -> Vec<Column> {
    let role = |object: &Value, _| {
        format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"])).into()
    };
    let (users, groups) = match kind {
        "roleBinding" => ("Users in the roleBinding", "Groups in the roleBinding"),
        _ => ("Users in the clusterRoleBinding", "Groups in the clusterRoleBinding"),
    };
    vec![
        NAME,
        column("Role", "The role that is bound.", role),
        AGE,
        wide(column("Users", users, |object, _| subjects(object, "User"))),
        wide(column("Groups", groups, |object, _| subjects(object, "Group"))),
        wide(column("ServiceAccounts", "Service accounts that the role is bound to.", |object, _| {
            subjects(object, "ServiceAccount")
        })),
    ]
}

fn subjects(object: &Value, kind: &str) -> Value {
    let subjects = object["subjects"].as_array().into_iter().flatten();
    let names = subjects.filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = text(subject, &["name"]);
        if kind == "ServiceAccount" {
            format!("{}/{name}", text(subject, &["namespace"]))
        } else {
            name.to_owned()
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

fn event() -> Vec<Column> {
    vec![
        column("Last Seen", "When it happened last.", |event, now| age(last_seen(event), now)),
        column("Type", "Normal or Warning.", |event, _| text(event, &["type"]).into()),
        column("Reason", "Why it happened, in a word.", |event, _| text(event, &["reason"]).into()),
        column("Object", "What it is about.", |event, _| {
            let object = regarding(event);
            let (kind, name) = (text(object, &["kind"]), text(object, &["name"]));
            match (kind.is_empty(), name.is_empty()) {
                (true, _) => name.into(),
                (false, true) => kind.to_lowercase().into(),
                (false, false) => format!("{}/{name}", kind.to_lowercase()).into(),
            }
        }),
        wide(column("Subobject", "Which part of the object.", |event, _| {
            text(regarding(event), &["fieldPath"]).into()
        })),
        wide(column("Source", "Who reports it.", source)),
        column("Message", "What happened.", |event, _| {
            let message = text(event, &["message"]);
            let message = if message.is_empty() { text(event, &["note"]) } else { message };
            message.trim().into()
        }),
        wide(column("First Seen", "When it happened first.", |event, now| age(first_seen(event), now))),
        wide(column("Count", "How often it happened.", |event, _| {
            let counts = [&event["series"]["count"], &event["count"], &event["deprecatedCount"]];
            counts.into_iter().filter_map(Value::as_i64).find(|count| *count > 0).unwrap_or(1).into()
        })),
        wide(NAME),
    ]
}

/// Returns the object that an event is about, for both event APIs.
fn regarding(event: &Value) -> &Value {
    event.get("involvedObject").unwrap_or(&event["regarding"])
}

/// Returns the first non-empty text.
fn first<'a>(event: &'a Value, paths: &[&[&str]]) -> &'a str {
    paths.iter().map(|path| text(event, path)).find(|text| !text.is_empty()).unwrap_or_default()
}

fn first_seen(event: &Value) -> &str {
    first(event, &[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]])
}

fn last_seen(event: &Value) -> &str {
    let paths: [&[&str]; 3] =
        [&["series", "lastObservedTime"], &["lastTimestamp"], &["deprecatedLastTimestamp"]];
    let seen = first(event, &paths);
    if seen.is_empty() { first_seen(event) } else { seen }
}

fn source(event: &Value, _: DateTime<Utc>) -> Value {
    let source = event.get("source").unwrap_or(&event["deprecatedSource"]);
    let mut component = text(source, &["component"]);
    let mut host = text(source, &["host"]);
    if component.is_empty() && host.is_empty() {
        component = first(event, &[&["reportingComponent"], &["reportingController"]]);
        host = text(event, &["reportingInstance"]);
    }
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}

/// The current time in the tests of this module and its submodules.
#[cfg(test)]
const NOW: &str = "2026-01-01T00:01:00Z";

/// Returns the cells of `object` at [`NOW`].
#[cfg(test)]
fn cells(columns: &[Column], object: &Value) -> Vec<Value> {
    let now = parse_rfc3339(NOW).unwrap_or_default();
    columns.iter().map(|column| (column.cell)(object, now)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workloads_count() {
        let deployment =
            json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 1}});
        let shown = cells(&of("apps", "Deployment").unwrap(), &deployment);
        assert_eq!(Value::from(&shown[1..4]), json!(["2/3", 1, 0]));
        let daemon_set = json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b", "c": "d"}}}},
                                "status": {"desiredNumberScheduled": 4, "numberReady": 3}});
        let shown = cells(&of("apps", "DaemonSet").unwrap(), &daemon_set);
        assert_eq!(Value::from(&shown[1..7]), json!([4, 0, 3, 0, 0, "a=b,c=d"]));
    }
}
