//! Converts objects to the entries of the tree. Pure.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::startup::{Report, Unconfirmed};
use machinery::clock::parse_rfc3339;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::{Value, json};

use super::conditions::{causes, condition, is_paused, is_provisioned, is_true};
use super::{hosts, pools};

/// The objects of the tree, as the API server returns them.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// Clusters.
    pub clusters: Vec<Value>,
    /// Control planes of any kind.
    pub control_planes: Vec<Value>,
    /// Infrastructure clusters of any kind.
    pub infrastructure: Vec<Value>,
    /// MachineDeployments.
    pub machine_deployments: Vec<Value>,
    /// MachineSets. They have no entries; what holds one up is a cause of its MachineDeployment.
    pub machine_sets: Vec<Value>,
    /// MachinePools.
    pub machine_pools: Vec<Value>,
    /// Machines.
    pub machines: Vec<Value>,
    /// BareMetalHosts.
    pub hosts: Vec<BareMetalHost>,
    /// The agents of machines.
    pub agents: Vec<Agent>,
    /// DevMachines. They have no entries; a Machine tells how far its own is.
    pub dev_machines: Vec<Value>,
    /// What the controllers have not confirmed since they started.
    pub unconfirmed: Report,
}

/// The state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The object is ready, and nothing about it is about to change.
    Good,
    /// The object is not ready yet, or it is changing: scaling, or rolling out.
    Waiting,
    /// The object is being deleted.
    Deleting,
    /// This number of entries that are not shown.
    Folded(usize),
}

/// An entry, which is a line of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The depth in the tree, 0 for a cluster.
    pub depth: usize,
    /// A unique key, for example `Machine default/first-control-plane-x7x2f`.
    pub key: String,
    /// The displayed name, for example `Machine first-control-plane-x7x2f`.
    pub label: String,
    /// The state.
    pub state: State,
    /// A short summary: phase, replicas, version.
    pub summary: String,
    /// The causes for which it waits, the most important one first; empty if it is ready.
    pub causes: Vec<String>,
    /// The time since which it has been in this state.
    pub since: Option<DateTime<Utc>>,
    /// The start of a simulated machine that is under way.
    pub starts: Option<Starts>,
}

/// The start of a part of a simulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starts {
    /// When it began.
    pub since: DateTime<Utc>,
    /// How many seconds it takes.
    pub seconds: i64,
}

/// Returns all clusters with the objects below them, sorted by namespace and name, and then the entries for bare metal.
pub fn entries(objects: &Objects) -> Vec<Entry> {
    let mut clusters: Vec<&Value> = objects.clusters.iter().collect();
    clusters.sort_by_key(|cluster| (namespace(cluster), name(cluster)));
    let clusters = clusters.into_iter().flat_map(|cluster| cluster_entries(cluster, objects));
    let mut entries: Vec<Entry> = clusters.chain(hosts::entries(objects)).collect();
    doubt(&mut entries, &objects.unconfirmed);
    entries
}

/// Lets entries wait whose stored status no controller has confirmed yet.
fn doubt(entries: &mut [Entry], report: &Report) {
    let mut causes = BTreeMap::<String, Vec<String>>::new();
    for one in &report.unconfirmed {
        causes.entry(key_of(one)).or_default().push(one.cause.clone());
    }
    for entry in entries.iter_mut().filter(|entry| entry.state == State::Good) {
        if let Some(causes) = causes.remove(&entry.key) {
            (entry.state, entry.causes) = (State::Waiting, causes);
        }
    }
}

/// Returns the key of the entry of an unconfirmed object.
pub fn key_of(object: &Unconfirmed) -> String {
    let key =
        key(&json!({"kind": object.kind, "metadata": {"namespace": object.namespace, "name": object.name}}));
    key.trim_end().to_owned()
}

fn cluster_entries(cluster: &Value, objects: &Objects) -> Vec<Entry> {
    let here =
        |object: &&Value| namespace(object) == namespace(cluster) && cluster_of(object) == name(cluster);
    let referenced = |object: &&Value, field: &str| {
        let reference = &cluster["spec"][field];
        namespace(object) == namespace(cluster)
            && object["kind"] == reference["kind"]
            && object["metadata"]["name"] == reference["name"]
    };
    let mut found = vec![entry(cluster, 0, "Available", stage(cluster))];
    if is_paused(cluster) && found[0].state == State::Waiting {
        found[0].causes.insert(0, "it is paused, so nothing of it is reconciled".to_owned());
    }
    if let Some(infrastructure) =
        objects.infrastructure.iter().find(|object| referenced(object, "infrastructureRef"))
    {
        let endpoint = &cluster["spec"]["controlPlaneEndpoint"];
        let summary = match (endpoint["host"].as_str(), endpoint["port"].as_i64()) {
            (Some(host), Some(port)) => format!("endpoint {host}:{port}"),
            _ => String::new(),
        };
        found.push(entry(infrastructure, 1, "Ready", summary));
    }
    let control_plane = objects.control_planes.iter().find(|object| referenced(object, "controlPlaneRef"));
    let is_control =
        |machine: &&Value| machine["metadata"]["labels"].get("cluster.x-k8s.io/control-plane").is_some();
    let machines: Vec<&Value> = sorted(objects.machines.iter().filter(here));
    if let Some(control_plane) = control_plane {
        found.push(entry(control_plane, 1, "Available", replicas(control_plane)));
        found
            .extend(machines.iter().filter(|m| is_control(m)).map(|machine| machine_entry(machine, objects)));
    }
    for deployment in sorted(objects.machine_deployments.iter().filter(here)) {
        let of_deployment = |object: &Value| {
            object["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] == deployment["metadata"]["name"]
        };
        let sets = objects.machine_sets.iter().filter(here).filter(|set| of_deployment(set));
        let mut shown = entry(deployment, 1, "Available", replicas(deployment));
        shown.causes.splice(0..0, sets.flat_map(blocked));
        found.push(shown);
        found.extend(
            machines
                .iter()
                .filter(|machine| of_deployment(machine))
                .map(|machine| machine_entry(machine, objects)),
        );
    }
    for pool in sorted(objects.machine_pools.iter().filter(here)) {
        found.push(pools::entry(pool));
        let own = machines.iter().filter(|machine| pools::owns(pool, machine));
        found.extend(own.map(|machine| machine_entry(machine, objects)));
    }
    found
}

/// Returns the key of an object's entry.
pub(super) fn key(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    match namespace(object) {
        "" => format!("{kind} {}", name(object)),
        namespace => format!("{kind} {namespace}/{}", name(object)),
    }
}

/// Returns the reasons for which a MachineSet must not create Machines now.
fn blocked(set: &Value) -> Vec<String> {
    let condition = condition(set, "ScalingUp").filter(|_| is_true(set, "ScalingUp"));
    let message = condition.and_then(|condition| condition["message"].as_str()).unwrap_or_default();
    let reasons =
        message.split_once(" is blocked because:\n").map(|(_, reasons)| reasons).unwrap_or_default();
    reasons.lines().map(|reason| reason.trim_start_matches("* ").to_owned()).collect()
}

fn sorted<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut objects: Vec<&Value> = objects.collect();
    objects.sort_by_key(|object| {
        let created = object["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
        (created, name(object))
    });
    objects
}

fn machine_entry(machine: &Value, objects: &Objects) -> Entry {
    let version = machine["spec"]["version"].as_str().unwrap_or_default();
    let summary = format!("{} {version}", phase(machine));
    let reference = &machine["spec"]["infrastructureRef"];
    let is_own = |object: &&Value| {
        object["kind"] == reference["kind"]
            && object["metadata"]["name"] == reference["name"]
            && namespace(object) == namespace(machine)
    };
    let found = entry(machine, 2, "Ready", summary.trim().to_owned());
    let waits = found.state != State::Good;
    let starts = waits.then(|| objects.dev_machines.iter().find(is_own).and_then(starts)).flatten();
    Entry { starts, ..found }
}

/// The parts of a simulated machine in the order in which they start: the condition, the field of the part, and the part before it.
const PARTS: [(&str, &str, &str); 4] = [
    ("VMProvisioned", "vm", "VMProvisioned"),
    ("NodeProvisioned", "node", "VMProvisioned"),
    ("EtcdProvisioned", "etcd", "NodeProvisioned"),
    ("APIServerProvisioned", "apiServer", "NodeProvisioned"),
];

/// Returns the part of a DevMachine that is starting. The time of the VM's own condition is that at which its start began; the other parts
/// start when the part before them runs.
fn starts(machine: &Value) -> Option<Starts> {
    let is_starting = |(part, ..): &&(&str, &str, &str)| {
        condition(machine, part).is_some_and(|condition| condition["reason"] == "WaitingForStartupTimeout")
    };
    let (_, field, before) = PARTS.iter().find(is_starting)?;
    let since = condition(machine, before)?["lastTransitionTime"].as_str().and_then(parse_rfc3339)?;
    let duration = &machine["spec"]["backend"]["inMemory"][field]["provisioning"]["startupDuration"];
    let seconds = machinery::duration::parse(duration.as_str()?)?.as_secs();
    Some(Starts { since, seconds: seconds.try_into().ok()? })
}

/// Conditions that are true while an object that may already be Available is changing.
pub(super) const CHANGES: [&str; 3] = ["RollingOut", "ScalingUp", "ScalingDown"];
/// The condition of a Cluster with a topology that is false until all objects are as the topology wants them.
pub(super) const TOPOLOGY: &str = "TopologyReconciled";

fn entry(object: &Value, depth: usize, condition_type: &str, summary: String) -> Entry {
    let kind = object["kind"].as_str().unwrap_or_default();
    let summarized = condition(object, condition_type);
    let deleting = object["metadata"]["deletionTimestamp"].is_string();
    // An infrastructure cluster need not have a condition; the contract does not require one.
    let good = summarized.map_or_else(|| is_provisioned(object), |condition| condition["status"] == "True");
    // An upgrade of a topology goes on between the rollouts of its parts.
    let is_unfinished = condition(object, TOPOLOGY).is_some_and(|condition| condition["status"] == "False");
    let change = CHANGES.into_iter().find(|change| is_true(object, change));
    let change = change.or_else(|| is_unfinished.then_some(TOPOLOGY));
    let (state, shown) = match (deleting, good, change) {
        (true, ..) => (State::Deleting, condition(object, "Deleting").or(summarized)),
        (false, false, _) => (State::Waiting, summarized),
        (false, true, Some(change)) => (State::Waiting, condition(object, change)),
        (false, true, None) => (State::Good, summarized),
    };
    let causes = match (state, shown) {
        (State::Good, _) => Vec::new(),
        (_, Some(shown)) => causes(shown),
        (_, None) => vec!["its first reconcile".to_owned()],
    };
    let since = shown.unwrap_or(&Value::Null)["lastTransitionTime"]
        .as_str()
        .or(object["metadata"]["creationTimestamp"].as_str())
        .and_then(parse_rfc3339);
    let key = key(object);
    let label = if depth == 0 { key.clone() } else { format!("{kind} {}", name(object)) };
    Entry { depth, key, label, state, summary, causes, since, starts: None }
}

/// Returns how many replicas are available, and the version.
pub fn replicas(object: &Value) -> String {
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let available = object["status"]["availableReplicas"].as_i64().unwrap_or(0);
    let version =
        object["spec"]["version"].as_str().or(object["spec"]["template"]["spec"]["version"].as_str());
    format!("{available}/{wanted} available {}", version.unwrap_or_default()).trim().to_owned()
}

fn phase(object: &Value) -> String {
    object["status"]["phase"].as_str().unwrap_or("Pending").to_owned()
}

/// Returns `Available` as soon as the cluster is, because its phase stays `Provisioned` from before that until its deletion.
fn stage(cluster: &Value) -> String {
    let available = is_true(cluster, "Available") && cluster["status"]["phase"] == "Provisioned";
    let stage = if available { "Available".to_owned() } else { phase(cluster) };
    if is_paused(cluster) { format!("{stage}, paused") } else { stage }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn cluster_of(object: &Value) -> &str {
    object["spec"]["clusterName"].as_str().unwrap_or_default()
}
