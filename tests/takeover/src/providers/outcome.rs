//! What a cluster ends with, without what differs from run to run: names, times and addresses.

use std::collections::BTreeMap;

use anyhow::Result;
use netboot_tests::server::Objects;
use serde_json::{Value, json};

/// The kinds of a cluster.
const KINDS: [(&str, &str); 9] = [
    ("cluster.x-k8s.io/v1beta2", "Cluster"),
    ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"),
    ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io/v1beta2", "MachineSet"),
    ("cluster.x-k8s.io/v1beta2", "MachineHealthCheck"),
    ("cluster.x-k8s.io/v1beta2", "Machine"),
    ("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevCluster"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "DevMachine"),
];
/// Numbers in the status of the owners of machines.
const REPLICAS: [&str; 4] = ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"];

/// How many objects have each property, such as `Machine Ready=True`.
pub type Outcome = BTreeMap<String, usize>;

/// Reads what the objects of a namespace are like.
///
/// # Errors
/// A kind cannot be read.
pub async fn of(objects: &Objects) -> Result<Outcome> {
    let mut found = Outcome::new();
    for (api_version, kind) in KINDS {
        let like = json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "default", "name": ""}});
        for object in objects.list(&like).await? {
            for property in properties(&object) {
                *found.entry(format!("{kind}{property}")).or_default() += 1;
            }
        }
    }
    Ok(found)
}

/// Returns the properties of an object, and an empty one, which counts the object.
pub fn properties(object: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = vec![String::new()];
    for condition in object["status"]["conditions"].as_array().into_iter().flatten() {
        let [kind, status, reason] = ["type", "status", "reason"].map(|field| text(&condition[field]));
        found.push(format!(" {kind}={status} ({reason})"));
    }
    for field in REPLICAS.iter().filter(|field| object["status"][**field].is_number()) {
        found.push(format!(" {field}={}", object["status"][*field]));
    }
    for (field, value) in [("phase", &object["status"]["phase"]), ("version", &object["spec"]["version"])] {
        if value.is_string() {
            found.push(format!(" {field}={}", text(value)));
        }
    }
    for field in object["metadata"]["finalizers"].as_array().into_iter().flatten() {
        found.push(format!(" finalizer {}", text(field)));
    }
    found
}

/// Returns a line for each property that differs.
pub fn differences(theirs: &Outcome, ours: &Outcome) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    let count = |outcome: &Outcome, name: &String| outcome.get(name).copied().unwrap_or_default();
    let differ = names.into_iter().filter(|name| count(theirs, name) != count(ours, name));
    differ
        .map(|name| format!("{name}: {} upstream, {} here", count(theirs, name), count(ours, name)))
        .collect()
}
