//! What a recording says about an object: conditions, numbers, owners, whether it is being deleted. Pure functions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::topology;

/// The kinds whose status is compared. Of other kinds, only their creation, owners and deletion are.
pub const COMPARED: [&str; 7] = [
    "Cluster",
    "ClusterClass",
    "KubeadmControlPlane",
    "Machine",
    "MachineDeployment",
    "MachineHealthCheck",
    "MachineSet",
];
/// The kinds that are followed without their status.
pub const FOLLOWED: [&str; 8] = [
    "DevCluster",
    "DevClusterTemplate",
    "DevMachine",
    "DevMachineTemplate",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "KubeadmControlPlaneTemplate",
    "Secret",
];
/// The conditions whose message belongs to the change. Of the others, which summarize, it is compared at rest.
const TOLD: [&str; 4] = ["Deleting", "HealthCheckSucceeded", "OwnerRemediated", "RemediationAllowed"];
/// The annotations that are compared, without the prefixes of their keys.
const ANNOTATIONS: [&str; 15] = [
    "cp-annotation",
    "defer-upgrade",
    "desired-replicas",
    "hold-upgrade-sequence",
    "kcp-cleanup",
    "max-replicas",
    "md-annotation",
    "pending-hooks",
    "remediate-machine",
    "remediation-for",
    "remediation-in-progress",
    "restartedAt",
    "revision",
    "skip-remediation",
    "upgrade-step",
];
/// The numbers and words of a status that are compared.
const FIELDS: [&str; 7] = [
    "availableReplicas",
    "currentHealthy",
    "expectedMachines",
    "phase",
    "readyReplicas",
    "replicas",
    "upToDateReplicas",
];

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The value; of a condition its status and reason.
    pub value: String,
    /// The message of a condition.
    pub message: String,
}

impl Fact {
    fn of(value: impl Into<String>) -> Self {
        Self { value: value.into(), message: String::new() }
    }
}

/// The facts about an object by their names.
pub type Facts = BTreeMap<String, Fact>;

/// Adds a fact.
pub(super) fn add(facts: &mut Facts, name: &str, value: impl Into<String>) {
    facts.insert(name.to_owned(), Fact::of(value));
}

/// Returns the facts about an object.
pub fn facts(object: &Value) -> Facts {
    let kind = object["kind"].as_str().unwrap_or_default();
    let (metadata, status) = (&object["metadata"], &object["status"]);
    let mut facts = Facts::new();
    if COMPARED.contains(&kind) {
        facts.extend(conditions(status));
        let fields = FIELDS.iter().filter(|field| !status[**field].is_null());
        facts.extend(fields.map(|field| ((*field).to_owned(), Fact::of(text(&status[*field])))));
        if !object["spec"]["replicas"].is_null() {
            facts.insert("spec.replicas".to_owned(), Fact::of(text(&object["spec"]["replicas"])));
        }
        if let Some(node) = status["nodeRef"]["name"].as_str() {
            facts.insert("nodeRef".to_owned(), Fact::of(node));
        }
        let last = &status["lastRemediation"];
        if let Some(machine) = last["machine"].as_str() {
            let value = format!("{machine} {}", text(&last["retryCount"]));
            facts.insert("lastRemediation".to_owned(), Fact::of(value));
        }
        facts.extend(annotations(metadata));
    }
    topology::add_facts(kind, object, &mut facts);
    if metadata["deletionTimestamp"].is_string() {
        facts.insert("deletionTimestamp".to_owned(), Fact::of("set"));
    }
    // Other Secrets are bootstrap data, and those of users.
    if kind != "Secret" || object["type"] == "cluster.x-k8s.io/secret" {
        facts.extend(owners(metadata));
    }
    facts
}

fn conditions(status: &Value) -> impl Iterator<Item = (String, Fact)> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter(|condition| condition["type"] != "Paused").map(|condition| {
        let value = format!("{} {}", text(&condition["status"]), text(&condition["reason"]));
        (text(&condition["type"]), Fact { value, message: without_times(&text(&condition["message"])) })
    })
}

fn annotations(metadata: &Value) -> impl Iterator<Item = (String, Fact)> {
    let annotations = metadata["annotations"].as_object().into_iter().flatten();
    annotations.filter_map(|(key, value)| {
        let name = key.rsplit('/').next().filter(|name| ANNOTATIONS.contains(name))?;
        let value = without_times(&text(value));
        let value = if value.is_empty() { "\"\"".to_owned() } else { value };
        Some((format!("annotation {name}"), Fact::of(value)))
    })
}

fn owners(metadata: &Value) -> impl Iterator<Item = (String, Fact)> {
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    owners.map(|owner| {
        let role = if owner["controller"] == true { "controller" } else { "plain" };
        (format!("owner {} {}", text(&owner["kind"]), text(&owner["name"])), Fact::of(role))
    })
}

/// Returns what changed between two states of an object, a line each; the message of a condition only if it tells what happens.
pub fn changes(before: &Facts, after: &Facts) -> Vec<String> {
    let names = after.keys().chain(before.keys().filter(|name| !after.contains_key(*name)));
    let mut lines = Vec::new();
    for name in names {
        let is_told = TOLD.contains(&name.as_str());
        match (before.get(name), after.get(name)) {
            (_, None) => lines.push(format!("{name} removed")),
            (Some(old), Some(new)) if old.value == new.value && (!is_told || old.message == new.message) => {}
            (_, Some(new)) if is_told && !new.message.is_empty() => {
                lines.push(format!("{name}={}: {}", new.value, new.message.replace('\n', "\\n")));
            }
            (_, Some(new)) => lines.push(format!("{name}={}", new.value)),
        }
    }
    lines
}

/// Returns a text, or the JSON of another value.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Replaces points in time such as `2026-11-22T22:40:41Z`.
fn without_times(text: &str) -> String {
    const SHAPE: &[u8; 20] = b"0000-00-00T00:00:00Z";
    let mut out = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_time = rest.len() >= SHAPE.len()
            && rest
                .bytes()
                .zip(SHAPE)
                .all(|(byte, shape)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape });
        if is_time {
            out.push_str("<time>");
            rest = &rest[SHAPE.len()..];
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}
