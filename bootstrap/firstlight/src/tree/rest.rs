//! Whether clusters are as they are wanted now. Pure.

use serde_json::Value;

use super::conditions::{condition, is_paused, is_true};
use super::model::{CHANGES, Objects, TOPOLOGY};
use super::pools;

/// Returns whether there is at least one cluster, and this condition of all clusters is true of what is wanted now. Of a paused cluster only
/// its last status is known.
pub fn all_have(objects: &Objects, condition_type: &str) -> bool {
    let has = |cluster| match is_paused(cluster) {
        true => is_true(cluster, condition_type),
        false => is_observed(cluster) && is_true_now(cluster, condition_type),
    };
    !objects.clusters.is_empty() && objects.clusters.iter().all(has)
}

/// Returns whether the controller of an object has seen what is wanted now, as far as the object says that.
fn is_observed(object: &Value) -> bool {
    is_of_generation(object, &object["status"]["observedGeneration"])
}

/// Returns whether a condition is true, and is not about what was wanted before.
fn is_true_now(object: &Value, condition_type: &str) -> bool {
    let observed = |condition: &Value| is_of_generation(object, &condition["observedGeneration"]);
    is_true(object, condition_type) && condition(object, condition_type).is_some_and(observed)
}

fn is_of_generation(object: &Value, observed: &Value) -> bool {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
    observed.as_i64().is_none_or(|observed| observed >= generation)
}

/// Returns whether there is at least one cluster, all clusters are Available, and the controllers have confirmed it since they started: what
/// is stored may be the state before.
pub fn all_available(objects: &Objects) -> bool {
    all_have(objects, "Available") && objects.unconfirmed.is_confirmed()
}

/// Returns whether all clusters are Available and none is changing: they have all their machines, each Ready, and all objects that follow
/// from their classes.
pub fn all_at_rest(objects: &Objects) -> bool {
    let is_moving =
        |object: &Value| !is_observed(object) || CHANGES.iter().any(|change| is_true(object, change));
    let mut clusters = objects.clusters.iter().filter(|cluster| !is_paused(cluster));
    // A Cluster learns of a change of these from their status.
    let parts = [&objects.control_planes, &objects.machine_deployments, &objects.machine_sets];
    all_available(objects)
        && !clusters.any(|cluster| is_moving(cluster) || waits_for_topology(cluster))
        && !parts.into_iter().flatten().any(is_moving)
        && objects.machine_pools.iter().all(is_observed)
        && objects.machine_pools.iter().all(pools::is_complete)
        && objects.machines.iter().all(is_settled)
}

/// Returns whether a Machine is Ready, with its Node, and stays.
fn is_settled(machine: &Value) -> bool {
    machine["status"]["nodeRef"]["name"].is_string()
        && is_true_now(machine, "Ready")
        && !machine["metadata"]["deletionTimestamp"].is_string()
}

/// Returns whether a change of the topology, if there is one, has not reached all objects yet.
fn waits_for_topology(cluster: &Value) -> bool {
    let is_reconciled = |condition: &Value| {
        condition["status"] == "True" && condition["observedGeneration"] == cluster["metadata"]["generation"]
    };
    cluster["spec"]["topology"].is_object() && !condition(cluster, TOPOLOGY).is_some_and(is_reconciled)
}
