//! There are never more Machines than their owner allows.

use serde_json::Value;

use super::object::{DEPLOYMENT, is_deleting, label, name, namespace};
use super::view::{Change, View};

const SET: &str = "cluster.x-k8s.io/set-name";
const SETS: &str = "/registry/cluster.x-k8s.io/machinesets/";

/// Returns a Machine that was created by this change.
fn new_machine<'a>(change: &Change<'a>) -> Option<&'a Value> {
    change.new.filter(|object| change.old.is_none() && object["kind"] == "Machine" && !is_deleting(object))
}

/// A MachineSet never creates more Machines than it is to have.
pub(super) fn of_a_set(view: &View, change: &Change<'_>) -> Option<String> {
    let machine = new_machine(change)?;
    let set = label(machine, SET)?;
    let most = view.most_replicas(&format!("{SETS}{}/{set}", namespace(machine)))?;
    let all = view.machines(machine, |other| label(other, SET) == Some(set) && !is_deleting(other));
    let count = i64::try_from(all.count()).unwrap_or(i64::MAX);
    (count > most).then(|| {
        format!("surge: MachineSet {set} has {count} Machines with {}, and wants {most}", name(machine))
    })
}

/// A MachineDeployment or a control plane never has more Machines than its replicas and its surge.
pub(super) fn of_an_owner(view: &View, change: &Change<'_>) -> Option<String> {
    let machine = new_machine(change)?;
    let (key, owner) = view.owner(machine)?;
    let most = view.most(&key)?;
    let all = view.machines(machine, |other| {
        !is_deleting(other) && view.owner(other).is_some_and(|(other, _)| other == key)
    });
    let count = i64::try_from(all.count()).unwrap_or(i64::MAX);
    let kind = owner["kind"].as_str().unwrap_or_default();
    (count > most).then(|| {
        format!(
            "surge: {kind} {} has {count} Machines with {}, and allows {most}",
            name(owner),
            name(machine)
        )
    })
}

/// The MachineSets of a MachineDeployment are never scaled up beyond its replicas and its surge.
pub(super) fn of_a_scale_up(view: &View, change: &Change<'_>) -> Option<String> {
    let set = change.new.filter(|object| object["kind"] == "MachineSet")?;
    let replicas = |set: &Value| set["spec"]["replicas"].as_i64().unwrap_or_default();
    if replicas(set) <= change.old.map_or(0, replicas) {
        return None;
    }
    let (key, owner) = view.owner(set)?;
    let most = view.most(&key)?;
    let is_sibling = |other: &&Value| {
        label(other, DEPLOYMENT) == label(set, DEPLOYMENT) && namespace(other) == namespace(set)
    };
    let sum: i64 = view.below(SETS).map(|(_, other)| other).filter(is_sibling).map(replicas).sum();
    (sum > most).then(|| {
        format!("surge: the MachineSets of {} are to have {sum} Machines, and it allows {most}", name(owner))
    })
}

/// A MachineDeployment has one MachineSet for its template, and another one only for a later `rollout.after`.
pub(super) fn of_one_template(view: &View, change: &Change<'_>) -> Option<String> {
    let set = change.new.filter(|object| change.old.is_none() && object["kind"] == "MachineSet")?;
    let (_, owner) = view.owner(set)?;
    let created = |set: &Value| set["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    let after = owner["spec"]["rollout"]["after"].as_str().map(str::to_owned);
    let prefix = format!("{SETS}{}/", namespace(set));
    let is_second = |other: &Value| {
        name(other) != name(set)
            && label(other, DEPLOYMENT) == label(set, DEPLOYMENT)
            && !is_deleting(other)
            && other["spec"]["template"]["spec"] == set["spec"]["template"]["spec"]
            && after.as_ref().is_none_or(|after| created(other).is_some_and(|created| created >= *after))
    };
    let other = view.below(&prefix).map(|(_, other)| other).find(|other| is_second(other))?;
    Some(format!(
        "surge: MachineDeployment {} has MachineSet {}, and makes {} for the same template",
        name(owner),
        name(other),
        name(set)
    ))
}
