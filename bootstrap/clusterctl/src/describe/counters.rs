//! The columns with numbers of replicas.

use serde_json::Value;

use super::tree::{Content, Node};

/// The number of replicas, and how many of them are available, ready and up to date.
pub(super) fn counters(node: &Node) -> [String; 4] {
    let none = || [const { String::new() }; 4];
    let number = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let shown = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
    let holds =
        |name: &str| usize::from(node.condition(name).is_some_and(|one| one.status == "True")).to_string();
    match (&node.content, node.kind.as_str()) {
        (Content::Known(object), "Cluster") => {
            let sum = |field: &str| {
                let of = |part: &str| number(object, &format!("/status/{part}/{field}"));
                match (of("controlPlane"), of("workers")) {
                    (None, None) => None,
                    (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
                }
            };
            let replicas = match (sum("replicas"), sum("desiredReplicas")) {
                (None, None) => String::new(),
                (now, desired) => format!("{}/{}", now.unwrap_or_default(), desired.unwrap_or_default()),
            };
            [
                replicas,
                shown(sum("availableReplicas")),
                shown(sum("readyReplicas")),
                shown(sum("upToDateReplicas")),
            ]
        }
        (Content::Known(_), "Machine") => {
            ["1".to_owned(), holds("Available"), holds("Ready"), holds("UpToDate")]
        }
        (Content::Known(object), "MachineDeployment" | "MachineSet") => {
            let replicas = number(object, "/spec/replicas").map(|desired| {
                format!("{}/{desired}", number(object, "/status/replicas").unwrap_or_default())
            });
            let of = |field: &str| shown(number(object, &format!("/status/{field}")));
            [
                replicas.unwrap_or_default(),
                of("availableReplicas"),
                of("readyReplicas"),
                of("upToDateReplicas"),
            ]
        }
        (Content::ControlPlane(object, contract), _) => {
            let replicas = match (number(object, "/status/replicas"), number(object, "/spec/replicas")) {
                (Some(now), Some(desired)) => format!("{now}/{desired}"),
                _ => String::new(),
            };
            let up_to_date = if contract == "v1beta1" { "updatedReplicas" } else { "upToDateReplicas" };
            let of = |field: &str| shown(number(object, &format!("/status/{field}")));
            [replicas, of("availableReplicas"), of("readyReplicas"), of(up_to_date)]
        }
        (Content::Group(group), _) => [
            String::new(),
            group.available.to_string(),
            group.ready.to_string(),
            group.up_to_date.to_string(),
        ],
        _ => none(),
    }
}
