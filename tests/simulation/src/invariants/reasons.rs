//! No Machine is deleted without a reason.

use chrono::TimeDelta;
use serde_json::Value;

use super::object::{DEPLOYMENT, annotation, is_deleting, label, name, namespace};
use super::rest::condition;
use super::view::{Change, LAG, View};

/// Annotation of a MachineSet with the revision of the MachineDeployment that it belongs to.
const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
const SET: &str = "cluster.x-k8s.io/set-name";
/// Asks for the remediation of a Machine.
const REMEDIATE: &str = "cluster.x-k8s.io/remediate-machine";
/// A Machine without a Node is sick after this time (`nodeStartupTimeoutSeconds` of the health checks).
const STARTUP: TimeDelta = TimeDelta::seconds(60);

/// Returns a Machine whose deletion begins with this change.
pub(super) fn begins_to_go<'a>(change: &Change<'a>) -> Option<&'a Value> {
    let machine = change.new.filter(|object| object["kind"] == "Machine" && is_deleting(object))?;
    (!change.old.is_some_and(is_deleting)).then_some(machine)
}

/// A Machine is deleted by the user, with its owner, because it is sick, outdated, or one too many.
pub(super) fn of_a_deletion(view: &View, change: &Change<'_>) -> Option<String> {
    let machine = begins_to_go(change)?;
    let before = change.old?;
    let has_reason = view.deleted().contains(change.key)
        || is_without_owner(view, machine)
        || is_sick(view, before)
        || is_outdated(view, before)
        || is_one_too_many(view, machine);
    let conditions = &before["status"]["conditions"];
    (!has_reason).then(|| {
        format!("reason: Machine {} was deleted, and nothing was wrong with it: {conditions}", name(machine))
    })
}

/// Returns whether the owner of a Machine is deleted, or is gone.
fn is_without_owner(view: &View, machine: &Value) -> bool {
    let set = label(machine, SET).and_then(|set| {
        view.get(&format!("/registry/cluster.x-k8s.io/machinesets/{}/{set}", namespace(machine)))
    });
    let is_set_going = label(machine, SET).is_some() && set.is_none_or(is_deleting);
    is_set_going
        || view.owner(machine).is_none_or(|(_, owner)| is_deleting(owner))
        || view.cluster(machine).is_none_or(is_deleting)
}

fn is_sick(view: &View, machine: &Value) -> bool {
    let created = machine["metadata"]["creationTimestamp"].as_str().and_then(machinery::clock::parse_rfc3339);
    // The Node may come while a Machine that waited for too long is already being replaced.
    let until = view.has_node_since(machine).unwrap_or(view.now());
    let is_late = created.is_some_and(|created| until - created >= STARTUP) && view.now() - until <= LAG;
    view.was_sick_lately(machine) || annotation(machine, REMEDIATE).is_some() || is_late
}

/// Returns whether a rollout is to replace a Machine. At its beginning, the Machine may not say so yet. A new Machine says neither.
fn is_outdated(view: &View, machine: &Value) -> bool {
    let says_so = condition(machine, "UpToDate").is_some_and(|condition| condition["status"] == "False");
    let owner = view.owner(machine);
    let is_other_version = owner.as_ref().is_some_and(|(_, owner)| version(owner) != version(machine));
    says_so || is_other_version || is_of_an_old_set(view, machine)
}

/// Returns whether another MachineSet of the same MachineDeployment has a later revision.
fn is_of_an_old_set(view: &View, machine: &Value) -> bool {
    let prefix = format!("/registry/cluster.x-k8s.io/machinesets/{}/", namespace(machine));
    let revision =
        |set: &Value| annotation(set, REVISION).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let Some(deployment) = label(machine, DEPLOYMENT) else { return false };
    let sets = view.below(&prefix).map(|(_, set)| set);
    let sets: Vec<&Value> = sets.filter(|set| label(set, DEPLOYMENT) == Some(deployment)).collect();
    let own = sets.iter().find(|set| Some(name(set)) == label(machine, SET)).map(|set| revision(set));
    own.is_some_and(|own| sets.iter().any(|set| revision(set) > own))
}

/// Returns the Kubernetes version of a Machine, or of those of its owner.
fn version(object: &Value) -> Option<&str> {
    let spec = &object["spec"];
    spec["template"]["spec"]["version"].as_str().or_else(|| spec["version"].as_str())
}

fn is_one_too_many(view: &View, machine: &Value) -> bool {
    let Some((key, _)) = view.owner(machine) else { return true };
    let others = view.machines(machine, |other| {
        !is_deleting(other) && view.owner(other).is_some_and(|(other, _)| other == key)
    });
    let count = i64::try_from(others.count()).unwrap_or(i64::MAX);
    view.fewest_replicas(&key).is_some_and(|fewest| count >= fewest)
}
