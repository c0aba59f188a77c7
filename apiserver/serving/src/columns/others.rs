//! Columns of quotas, devices, addresses, flow control and related kinds.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use super::workload::each;
use super::{AGE, Column, NAME, column, or};

/// Returns the columns of a kind; `None` if the columns of its definition apply.
pub(super) fn of(kind: &str) -> Option<Vec<Column>> {
    Some(match kind {
        "ResourceQuota" => vec![
            NAME,
            column("Request", "What is used of what may be requested.", |one, _| used(one, false)),
            column("Limit", "What is used of what limits may add up to.", |one, _| used(one, true)),
            AGE,
        ],
        "PodTemplate" => vec![
            NAME,
            column("Containers", "Names of the containers in its template.", |one, _| {
                each(&one["template"], "name").into()
            }),
            column("Images", "Images of the containers in its template.", |one, _| {
                each(&one["template"], "image").into()
            }),
            column("Pod Labels", "Labels of its pods.", |one, _| {
                labels(&one["template"]["metadata"]["labels"])
            }),
        ],
        "ControllerRevision" => vec![
            NAME,
            column("Controller", "Whose revision it is.", controller),
            column("Revision", "The number of the revision.", |one, _| one["revision"].clone()),
            AGE,
        ],
        "RuntimeClass" => {
            vec![NAME, column("Handler", "", |one, _| text(one, &["handler"]).into()), AGE]
        }
        "VolumeAttributesClass" => vec![
            NAME,
            column("DriverName", "The driver that it is for.", |one, _| text(one, &["driverName"]).into()),
            AGE,
        ],
        "ServiceCIDR" => {
            vec![
                NAME,
                column("CIDRs", "The ranges of addresses.", |one, _| joined(&one["spec"]["cidrs"])),
                AGE,
            ]
        }
        "IPAddress" => vec![NAME, column("ParentRef", "Whose address it is.", parent), AGE],
        "DeviceClass" | "ResourceClaimTemplate" => vec![NAME, AGE],
        "ResourceClaim" => vec![NAME, column("State", "Whether it is allocated and reserved.", claim), AGE],
        "ResourceSlice" => vec![
            NAME,
            column("Node", "The node that has the devices.", |one, _| node(one)),
            column("Driver", "The driver of the devices.", |one, _| text(one, &["spec", "driver"]).into()),
            column("Pool", "The pool they belong to.", |one, _| text(one, &["spec", "pool", "name"]).into()),
            AGE,
        ],
        "FlowSchema" => flow_schema(),
        "PriorityLevelConfiguration" => priority_level(),
        _ => return None,
    })
}

fn used(quota: &Value, limits: bool) -> Value {
    let (hard, used) = (&quota["status"]["hard"], &quota["status"]["used"]);
    let of_limits = |name: &str| name.starts_with("limits");
    let mut names: Vec<&String> = hard.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    names.retain(|name| of_limits(name) == limits);
    names.sort();
    let amount = |value: &Value| value.as_str().unwrap_or("0").to_owned();
    let shown = names.iter().map(|name| format!("{name}: {}/{}", amount(&used[*name]), amount(&hard[*name])));
    shown.collect::<Vec<_>>().join(", ").into()
}

fn controller(revision: &Value, _: DateTime<Utc>) -> Value {
    let mut owners = machinery::meta::owner_references(revision).iter();
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else { return "<none>".into() };
    let (group, _) = machinery::meta::group_version(text(owner, &["apiVersion"]));
    let kind = text(owner, &["kind"]).to_lowercase();
    let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
    format!("{kind}/{}", text(owner, &["name"])).into()
}

fn labels(labels: &Value) -> Value {
    let labels = labels.as_object().into_iter().flatten();
    let shown = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    or(&shown.collect::<Vec<_>>().join(","), "<none>")
}

fn joined(list: &Value) -> Value {
    let items = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    items.collect::<Vec<_>>().join(",").into()
}

fn parent(address: &Value, _: DateTime<Utc>) -> Value {
    let parent = &address["spec"]["parentRef"];
    let parts = ["group", "resource", "namespace", "name"].map(|part| text(parent, &[part]));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    or(&parts.join("/"), "<none>")
}

fn claim(claim: &Value, _: DateTime<Utc>) -> Value {
    let status = &claim["status"];
    let mut states = Vec::new();
    if !text(claim, &["metadata", "deletionTimestamp"]).is_empty() {
        states.push("deleted");
    }
    if status["allocation"].is_null() {
        if states.is_empty() {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if status["reservedFor"].as_array().is_some_and(|list| !list.is_empty()) {
            states.push("reserved");
        }
    }
    states.join(",").into()
}

fn node(slice: &Value) -> Value {
    let spec = &slice["spec"];
    if spec["allNodes"] == true {
        return "<all>".into();
    }
    if spec["nodeSelector"].is_object() {
        return "<some>".into();
    }
    or(text(spec, &["nodeName"]), "<unset>")
}

fn flow_schema() -> Vec<Column> {
    vec![
        NAME,
        column("PriorityLevel", "The level of its requests.", |one, _| {
            text(one, &["spec", "priorityLevelConfiguration", "name"]).into()
        }),
        column("MatchingPrecedence", "Which of several comes first.", |one, _| {
            one["spec"]["matchingPrecedence"].clone()
        }),
        column("DistinguisherMethod", "What makes a flow.", |one, _| {
            or(text(one, &["spec", "distinguisherMethod", "type"]), "<none>")
        }),
        AGE,
        column("MissingPL", "Whether the level is not there.", |one, _| {
            let mut conditions = one["status"]["conditions"].as_array().into_iter().flatten();
            let dangling = conditions.find(|condition| condition["type"] == "Dangling");
            dangling.map_or_else(|| "?".into(), |condition| condition["status"].clone())
        }),
    ]
}

fn priority_level() -> Vec<Column> {
    vec![
        NAME,
        column("Type", "Whether it is limited.", |one, _| text(one, &["spec", "type"]).into()),
        column("NominalConcurrencyShares", "Its share of the seats.", |one, _| {
            let shares = ["limited", "exempt"].map(|part| &one["spec"][part]["nominalConcurrencyShares"]);
            shares.into_iter().find(|shares| !shares.is_null()).cloned().unwrap_or_else(|| "<none>".into())
        }),
        column("Queues", "How many queues it has.", |one, _| queuing(one, "queues")),
        column("HandSize", "Queues that a flow chooses from.", |one, _| queuing(one, "handSize")),
        column("QueueLengthLimit", "How long a queue gets.", |one, _| queuing(one, "queueLengthLimit")),
        AGE,
    ]
}

fn queuing(level: &Value, field: &str) -> Value {
    let found = &level["spec"]["limited"]["limitResponse"]["queuing"][field];
    if found.is_null() { "<none>".into() } else { found.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::cells;
    use super::*;

    #[test]
    fn quotas_and_revisions() {
        let quota = json!({"status": {"hard": {"pods": "2", "limits.cpu": "1"}, "used": {"pods": "1"}}});
        let shown = cells(&of("ResourceQuota").unwrap(), &quota);
        assert_eq!(Value::from(&shown[1..3]), json!(["pods: 1/2", "limits.cpu: 0/1"]));
        let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true});
        let revision = json!({"metadata": {"ownerReferences": [owner]}, "revision": 3});
        let shown = cells(&of("ControllerRevision").unwrap(), &revision);
        assert_eq!(Value::from(&shown[1..3]), json!(["daemonset.apps/d", 3]));
    }
}
