//! Replica counters and versions in a Cluster's status.

use std::sync::Arc;

use engine::object::uid;
use engine::{ExternalObject, owners};
use schemas::HasConditions;
use schemas::cluster::{ClusterReplicasStatus, ClusterStatus, Machine};
use schemas::meta::StatusVersion;
use serde_json::Value;

use super::observe::is_of_pool;
use super::observed::Observed;
use crate::change::Reference;
use engine::versions;

/// The most entries of `versions`.
const MAX_VERSIONS: usize = 32;
/// The longest version, in characters.
const MAX_VERSION: usize = 256;

/// Sets `status.controlPlane` and `status.workers`.
pub fn set(status: &mut ClusterStatus, observed: &Observed) {
    status.control_plane = control_plane(status.control_plane.take(), observed);
    // The controller of topologies writes the plan of an upgrade.
    let plan = status.workers.take().map(|before| before.upgrade_plan).unwrap_or_default();
    status.workers = workers(observed);
    if !plan.is_empty() {
        status.workers.get_or_insert_default().upgrade_plan = plan;
    }
}

fn control_plane(
    before: Option<ClusterReplicasStatus>,
    observed: &Observed,
) -> Option<ClusterReplicasStatus> {
    match &observed.control_plane {
        Reference::Found(object) => Some(of_object(before.unwrap_or_default(), object)),
        Reference::NotFound | Reference::Failed(_) => None,
        Reference::None if observed.cluster.spec.topology.is_some() => None,
        Reference::None => {
            let mut counters = ClusterReplicasStatus::default();
            for machine in &observed.control_plane_machines {
                add_machine(&mut counters, machine);
            }
            counters.versions = machine_versions(&observed.control_plane_machines);
            (!observed.control_plane_machines.is_empty()).then_some(counters)
        }
    }
}

/// Returns whether the API server accepts the entry of `versions`.
fn is_version(entry: &StatusVersion) -> bool {
    (1..=MAX_VERSION).contains(&entry.version.chars().count())
        && entry.replicas.is_none_or(|replicas| replicas > 0)
}

/// Copies the counters that the control plane object reports; a counter that it does not report stays
/// unchanged.
fn of_object(mut counters: ClusterReplicasStatus, object: &ExternalObject) -> ClusterReplicasStatus {
    let number = |pointer: &str| object.number(pointer);
    let desired = number("/spec/replicas");
    counters.desired_replicas = desired.or(counters.desired_replicas);
    counters.replicas = number("/status/replicas").or(counters.replicas);
    counters.ready_replicas = number("/status/readyReplicas").or(counters.ready_replicas);
    if object.contract == "v1beta1" {
        let unavailable = number("/status/unavailableReplicas");
        let available = desired.zip(unavailable).map(|(desired, unavailable)| (desired - unavailable).max(0));
        counters.available_replicas = available.or(counters.available_replicas);
        counters.up_to_date_replicas = number("/status/updatedReplicas").or(counters.up_to_date_replicas);
    } else {
        counters.available_replicas = number("/status/availableReplicas").or(counters.available_replicas);
        counters.up_to_date_replicas = number("/status/upToDateReplicas").or(counters.up_to_date_replicas);
    }
    counters.versions = match object.get("/status/versions") {
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|version| serde_json::from_value::<StatusVersion>(version.clone()).ok())
            .filter(is_version)
            .take(MAX_VERSIONS)
            .collect(),
        _ => {
            let replicas = counters.replicas;
            let version = object.text("/status/version");
            let found = version.map(|version| StatusVersion { version: version.to_owned(), replicas });
            found.into_iter().filter(is_version).collect()
        }
    };
    counters
}

fn add(counter: &mut Option<i32>, number: Option<i32>) {
    if let Some(number) = number {
        *counter = Some(counter.unwrap_or(0).saturating_add(number));
    }
}

fn add_machine(counters: &mut ClusterReplicasStatus, machine: &Machine) {
    let one = |condition: &str| Some(i32::from(machine.condition_is_true(condition)));
    add(&mut counters.desired_replicas, Some(1));
    add(&mut counters.replicas, Some(1));
    add(&mut counters.ready_replicas, one("Ready"));
    add(&mut counters.available_replicas, one("Available"));
    add(&mut counters.up_to_date_replicas, one("UpToDate"));
}

fn machine_versions(machines: &[Arc<Machine>]) -> Vec<StatusVersion> {
    versions::count(machines.iter().filter_map(|machine| Some((machine.spec.version.as_deref()?, 1))))
}

/// The sum of the replicas of several objects.
#[derive(Default)]
struct Sum {
    counters: ClusterReplicasStatus,
    versions: Vec<StatusVersion>,
    contributors: usize,
}

/// Adds the replicas of a MachineDeployment, MachineSet or MachinePool, whose fields have the same names.
macro_rules! add_replicas {
    ($sum:expr, $object:expr) => {
        $sum.contributors += 1;
        add(&mut $sum.counters.desired_replicas, $object.spec.replicas);
        if let Some(status) = &$object.status {
            add(&mut $sum.counters.replicas, status.replicas);
            add(&mut $sum.counters.ready_replicas, status.ready_replicas);
            add(&mut $sum.counters.available_replicas, status.available_replicas);
            add(&mut $sum.counters.up_to_date_replicas, status.up_to_date_replicas);
            $sum.versions.extend(status.versions.iter().cloned());
        }
    };
}

/// Adds up the replicas of the MachineDeployments and MachinePools, and of the MachineSets and Machines that the Cluster itself owns. `None`
/// if there are none.
fn workers(observed: &Observed) -> Option<ClusterReplicasStatus> {
    let cluster = uid(observed.cluster.as_ref());
    let mut sum = Sum::default();
    for deployment in &observed.deployments {
        add_replicas!(sum, deployment);
    }
    for pool in &observed.pools {
        add_replicas!(sum, pool);
    }
    for set in observed.sets.iter().filter(|set| owners::is_owned_by(set.as_ref(), cluster)) {
        add_replicas!(sum, set);
    }
    // The Machines of MachinePools count as replicas of these.
    let machines = observed.worker_machines.iter().filter(|machine| !is_of_pool(machine));
    for machine in machines.filter(|machine| owners::is_owned_by(machine.as_ref(), cluster)) {
        sum.contributors += 1;
        add_machine(&mut sum.counters, machine);
        let version = machine.spec.version.clone();
        sum.versions.extend(version.map(|version| StatusVersion { version, replicas: Some(1) }));
    }
    sum.counters.versions = versions::count(
        sum.versions.iter().map(|reported| (reported.version.as_str(), reported.replicas.unwrap_or(0))),
    );
    (sum.contributors > 0).then_some(sum.counters)
}
