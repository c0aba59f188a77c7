//! What a change waits for: gates, holds, hooks and checks, as the conditions of objects say it. Pure.

use machinery::meta::{is_deleting, name, namespace};
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::action::spoken;
use super::view::View;
use crate::tree::conditions::{condition, is_paused, is_true};
use crate::tree::model::{Objects, State, entries};

/// Something for which a change waited.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The kind of the objects that waited.
    pub kind: String,
    /// What they waited for.
    pub cause: String,
    /// How many objects waited for it.
    pub objects: usize,
    /// For how many seconds at least one of them waited for it.
    pub seconds: i64,
}

/// An object that is not as it should be at the end, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remaining {
    /// The object, such as `Machine default/blue-x7x2f`.
    pub object: String,
    /// What it waits for.
    pub causes: Vec<String>,
}

/// Adds up for what objects wait.
#[derive(Debug, Default)]
pub struct Waits {
    /// The objects that wait, by kind and cause.
    waiting: BTreeMap<(String, String), BTreeSet<String>>,
    since: BTreeMap<(String, String), DateTime<Utc>>,
    ended: BTreeMap<(String, String), (BTreeSet<String>, i64)>,
    /// What each object waits for now.
    causes: BTreeMap<String, Vec<(String, String)>>,
}

impl Waits {
    /// Records what an object waits for from `now` on; `None` if it is gone.
    pub fn observe(&mut self, now: DateTime<Utc>, key: &str, object: Option<&Value>) {
        let kind = object.map(|object| object["kind"].as_str().unwrap_or_default());
        let found: Vec<(String, String)> = object
            .map(gates)
            .unwrap_or_default()
            .into_iter()
            .map(|cause| (kind.unwrap_or_default().to_owned(), cause))
            .collect();
        let before = self.causes.get(key).cloned().unwrap_or_default();
        for cause in before.iter().filter(|cause| !found.contains(cause)) {
            self.end(now, key, cause);
        }
        for cause in found.iter().filter(|cause| !before.contains(cause)) {
            let waiting = self.waiting.entry(cause.clone()).or_default();
            if waiting.is_empty() {
                self.since.insert(cause.clone(), now);
            }
            waiting.insert(key.to_owned());
            self.ended.entry(cause.clone()).or_default().0.insert(key.to_owned());
        }
        if found.is_empty() {
            self.causes.remove(key);
        } else {
            self.causes.insert(key.to_owned(), found);
        }
    }

    fn end(&mut self, now: DateTime<Utc>, key: &str, cause: &(String, String)) {
        let Some(waiting) = self.waiting.get_mut(cause) else { return };
        waiting.remove(key);
        if waiting.is_empty()
            && let Some(since) = self.since.remove(cause)
        {
            self.ended.entry(cause.clone()).or_default().1 += (now - since).num_seconds();
        }
    }

    /// Returns all waits until `now` that lasted for a second or more, the longest first.
    pub fn finish(mut self, now: DateTime<Utc>) -> Vec<Wait> {
        for (cause, since) in std::mem::take(&mut self.since) {
            self.ended.entry(cause).or_default().1 += (now - since).num_seconds();
        }
        let wait = |((kind, cause), (objects, seconds)): ((String, String), (BTreeSet<String>, i64))| Wait {
            kind,
            cause,
            objects: objects.len(),
            seconds,
        };
        let mut waits: Vec<Wait> = self.ended.into_iter().map(wait).filter(|wait| wait.seconds > 0).collect();
        waits.sort_by(|a, b| {
            b.seconds.cmp(&a.seconds).then_with(|| (&a.kind, &a.cause).cmp(&(&b.kind, &b.cause)))
        });
        waits
    }
}

/// The conditions that say what holds a change up.
const BLOCKABLE: [&str; 2] = ["ScalingUp", "ScalingDown"];

/// Returns the gates at which an object stands.
fn gates(object: &Value) -> Vec<String> {
    let mut gates = Vec::new();
    for type_ in BLOCKABLE.into_iter().filter(|type_| is_true(object, type_)) {
        let message = message(object, type_);
        let reasons =
            message.split_once(" is blocked because:\n").map(|(_, reasons)| reasons).unwrap_or_default();
        gates.extend(lines(reasons).map(|line| general(line, object)));
    }
    if object["kind"] == "Cluster"
        && condition(object, "TopologyReconciled").is_some_and(|condition| condition["status"] == "False")
    {
        gates.extend(lines(message(object, "TopologyReconciled")).skip(1).map(str::to_owned));
    }
    if object["kind"] == "Machine" && is_deleting(object) {
        gates.extend(lines(message(object, "Deleting")).next().map(|line| general(line, object)));
        gates.retain(|gate| !gate.is_empty());
    }
    if is_paused(object) {
        gates.push("it is paused".to_owned());
    }
    gates
}

fn message<'a>(object: &'a Value, type_: &str) -> &'a str {
    condition(object, type_).and_then(|condition| condition["message"].as_str()).unwrap_or_default()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.trim().trim_start_matches("* ")).filter(|line| !line.is_empty())
}

/// Returns a message without the name of its object and without times, so that equal waits of several objects are one.
fn general(line: &str, object: &Value) -> String {
    let line = line.split_once(" (started at ").map_or(line, |(line, _)| line);
    let own = name(object);
    let is_own = |word: &str| word.trim_matches(['"', '\'', ',', ':', '.']) == own;
    let words =
        line.split(' ').map(|word| if is_own(word) { word.replace(own, "it") } else { word.to_owned() });
    let line = words.collect::<Vec<String>>().join(" ");
    // Machines are named one by one, whatever holds them up.
    match line.strip_prefix("Machine ").and_then(|rest| rest.split_once(' ')) {
        Some((_, rest)) => format!("a Machine {rest}"),
        None => line,
    }
}

/// Returns what of these clusters is not as it should be.
pub fn remaining(view: &View, clusters: &BTreeSet<String>) -> Vec<Remaining> {
    let objects = objects(view, clusters);
    let unfinished = entries(&objects).into_iter().filter(|entry| entry.state != State::Good);
    let mut remaining: Vec<Remaining> =
        unfinished.map(|entry| Remaining { object: entry.key, causes: entry.causes }).collect();
    let all = objects.clusters.iter().chain(&objects.control_planes).chain(&objects.machine_deployments);
    for object in all.chain(&objects.machine_sets).chain(&objects.machine_pools) {
        let Some(cause) = unobserved(object) else { continue };
        match remaining.iter_mut().find(|found| found.object == spoken(object)) {
            Some(found) => found.causes.insert(0, cause),
            None => remaining.push(Remaining { object: spoken(object), causes: vec![cause] }),
        }
    }
    remaining
}

/// Returns why the newest spec of an object is not carried out yet; `None` if it is.
fn unobserved(object: &Value) -> Option<String> {
    let generation = &object["metadata"]["generation"];
    let observed = &object["status"]["observedGeneration"];
    let of_topology =
        condition(object, "TopologyReconciled").map(|condition| &condition["observedGeneration"]);
    let is_old = |observed: &Value| observed.is_number() && observed != generation;
    if !is_old(observed) && !of_topology.is_some_and(is_old) {
        return None;
    }
    Some(if is_paused(object) { "it is paused" } else { "its change is not reconciled" }.to_owned())
}

/// Returns the objects of these clusters as the tree of `up` and `status` takes them.
fn objects(view: &View, clusters: &BTreeSet<String>) -> Objects {
    let is_in = |object: &&Value| {
        super::object::cluster_of(object).is_some_and(|cluster| clusters.contains(&cluster))
    };
    let of_kind = |kind: &str| -> Vec<Value> { view.of_kind(kind).filter(is_in).cloned().collect() };
    let found = of_kind("Cluster");
    let referenced = |field: &str| -> Vec<Value> {
        let of = |cluster: &Value| view.referenced(&cluster["spec"][field], namespace(cluster)).cloned();
        found.iter().filter_map(of).collect()
    };
    Objects {
        control_planes: referenced("controlPlaneRef"),
        infrastructure: referenced("infrastructureRef"),
        machine_deployments: of_kind("MachineDeployment"),
        machine_sets: of_kind("MachineSet"),
        machine_pools: of_kind("MachinePool"),
        machines: of_kind("Machine"),
        clusters: found,
        ..Objects::default()
    }
}
