//! Columns of Nodes, by the rules of kube-apiserver's printer.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or, wide};

/// Prefix of the labels that give a Node a role; the role's name follows.
const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
/// The older role label; its value is the role's name.
const ROLE: &str = "kubernetes.io/role";

pub(crate) fn columns() -> Vec<Column> {
    let info = |name, description, cell| wide(column(name, description, cell));
    vec![
        NAME,
        column("Status", "Whether the node is ready, and takes pods.", status),
        column("Roles", "The roles that its labels give it.", roles),
        AGE,
        column("Version", "Version of its kubelet.", |node, _| {
            text(node, &["status", "nodeInfo", "kubeletVersion"]).into()
        }),
        info("Internal-IP", "Its first internal address.", |node, _| address(node, "InternalIP")),
        info("External-IP", "Its first external address.", |node, _| address(node, "ExternalIP")),
        info("OS-Image", "Its operating system.", |node, _| node_info(node, "osImage")),
        info("Kernel-Version", "Version of its kernel.", |node, _| node_info(node, "kernelVersion")),
        info("Container-Runtime", "Name and version of the container runtime.", |node, _| {
            node_info(node, "containerRuntimeVersion")
        }),
    ]
}

fn status(node: &Value, _: DateTime<Utc>) -> Value {
    let conditions = node["status"]["conditions"].as_array();
    let ready = conditions.into_iter().flatten().rfind(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    status.into()
}

fn roles(node: &Value, _: DateTime<Utc>) -> Value {
    let labels = node["metadata"]["labels"].as_object();
    let role = |(key, value): (&String, &Value)| {
        let role = match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => role.to_owned(),
            None if key == ROLE => value.as_str().unwrap_or_default().to_owned(),
            None => return None,
        };
        (!role.is_empty()).then_some(role)
    };
    let roles: BTreeSet<String> = labels.into_iter().flatten().filter_map(role).collect();
    let roles: Vec<String> = roles.into_iter().collect();
    or(&roles.join(","), "<none>")
}

fn address(node: &Value, kind: &str) -> Value {
    let addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let mut found = addresses.filter(|address| address["type"] == kind);
    or(found.next().map_or("", |address| text(address, &["address"])), "<none>")
}

fn node_info(node: &Value, field: &str) -> Value {
    or(text(node, &["status", "nodeInfo", field]), "<unknown>")
}
