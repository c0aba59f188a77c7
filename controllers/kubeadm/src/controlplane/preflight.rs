//! Preflight checks before a Machine is added or removed. Pure functions.
//!
//! A control plane that lacks a Machine because of a remediation gets the next one although others are unhealthy, as long as etcd keeps
//! its quorum. Otherwise one with several unhealthy Machines would never recover.

use engine::conditions::{FALSE, UNKNOWN};
use engine::object;
use schemas::HasConditions;
use schemas::cluster::Machine;

use super::observed::{Observed, are_components_healthy, component_conditions, node_name};
use super::{authorities, etcd_members, record};
use crate::names::condition;

/// Annotation on Clusters with a topology: the version of the upgrade step that is carried out.
pub(super) const UPGRADE_STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";

/// The reasons why scaling waits; all fields are empty or `false` if it may proceed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preflight {
    /// The version that the cluster's topology requires, if it differs.
    pub topology_version: Option<String>,
    /// Whether certificates are missing.
    pub certificates_missing: bool,
    /// Whether a Machine is being deleted.
    pub has_deleting: bool,
    /// Whether control plane components are unhealthy.
    pub components_unhealthy: bool,
    /// Whether etcd is unhealthy.
    pub etcd_unhealthy: bool,
    /// Descriptions of the problems of single Machines.
    pub problems: Vec<String>,
}

impl Preflight {
    /// Returns whether scaling may proceed.
    pub fn passed(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the reasons as messages for the scaling conditions.
    pub fn messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        if let Some(version) = &self.topology_version {
            messages.push(format!("waiting for a version upgrade to {version} to be propagated"));
        }
        if self.has_deleting {
            messages.push("waiting for a control plane Machine to complete deletion".to_owned());
        }
        if self.certificates_missing {
            messages.push("waiting for control plane certificates to become available".to_owned());
        }
        if self.components_unhealthy {
            messages.push("waiting for control plane components to become healthy".to_owned());
        }
        if self.etcd_unhealthy {
            messages.push("waiting for etcd cluster to become healthy".to_owned());
        }
        messages
    }

    /// Returns the message of the event; `None` if no Machine has a problem.
    pub fn event(&self) -> Option<String> {
        let problems = match self.problems.as_slice() {
            [] => return None,
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        Some(format!(
            "Waiting for control plane to pass preflight checks to continue reconciliation: {problems}"
        ))
    }
}

/// Checks all Machines except the one named `except`, which is to be deleted. `machines` have the conditions
/// of this reconcile.
pub fn check(observed: &Observed, machines: &[Machine], scaling_up: bool, except: Option<&str>) -> Preflight {
    let mut result = Preflight::default();
    if machines.is_empty() {
        return result;
    }
    result.topology_version = pending_topology_version(observed);
    result.certificates_missing = scaling_up && !authorities::certificates_complete(observed);
    result.has_deleting = machines.iter().any(object::is_deleting);
    if result.topology_version.is_some() || result.has_deleting {
        return result;
    }
    for machine in machines.iter().filter(|machine| machine.metadata.name.as_deref() != except) {
        check_machine(observed, machine, &mut result);
    }
    check_members(observed, &mut result);
    if scaling_up && !result.problems.is_empty() && record::carried(observed).is_some() {
        let health = check_replacement(observed, machines);
        return Preflight { certificates_missing: result.certificates_missing, ..health };
    }
    result
}

/// Checks that etcd has no member that belongs to no Machine. One that can be removed is removed before anything else.
fn check_members(observed: &Observed, result: &mut Preflight) {
    let Some(etcd) = observed.etcd().filter(|_| !etcd_members::is_provisioning(observed)) else { return };
    for member in etcd_members::unexpected(observed, etcd) {
        result.etcd_unhealthy = true;
        let name = etcd_members::text(member);
        result.problems.push(format!(
            "Etcd member {name} does not have a corresponding Machine, and can't be removed before the other members are healthy"
        ));
    }
}

/// Checks whether the control plane bears a new Machine that might fail, in the place of one that was remediated.
fn check_replacement(observed: &Observed, machines: &[Machine]) -> Preflight {
    let mut result = Preflight::default();
    let managed = observed.is_etcd_managed();
    if !machines.iter().any(|machine| are_components_healthy(machine, managed)) {
        result.components_unhealthy = true;
        result.problems.push(
            "cannot add a new control plane Machine when there are no control plane Machines with all Kubernetes control plane components in healthy state. Please check Kubernetes control plane component status"
                .to_owned(),
        );
    }
    if !managed {
        return result;
    }
    let problem = match (observed.etcd(), &observed.workload) {
        (Some(etcd), Some(view)) if etcd_members::with_new(view, etcd).is_quorum() => return result,
        (Some(_), Some(_)) => {
            "adding a new control plane Machine can lead to etcd quorum loss. Please check the etcd status"
        }
        _ => "cannot check etcd cluster health before scale up, etcd member list is empty",
    };
    result.etcd_unhealthy = true;
    result.problems.push(problem.to_owned());
    result
}

/// Returns the version that the cluster's topology is about to set, if it is not that of the control plane.
pub(super) fn pending_topology_version(observed: &Observed) -> Option<String> {
    let version = observed.cluster.spec.topology.as_ref().map(|topology| topology.version.clone())?;
    let step = object::annotation(observed.cluster.as_ref(), UPGRADE_STEP);
    let ours = observed.control_plane.spec.version.as_str();
    (version != ours && step != Some(ours)).then(|| step.map_or(version, str::to_owned))
}

fn check_machine(observed: &Observed, machine: &Machine, result: &mut Preflight) {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let managed = observed.is_etcd_managed();
    if node_name(machine).is_none() {
        result.components_unhealthy = true;
        result.etcd_unhealthy |= managed;
        result.problems.push(format!(
            "Machine {name} does not have a corresponding Node yet (Machine.status.nodeRef not set)"
        ));
        return;
    }
    for type_ in component_conditions(managed) {
        if let Some(problem) = problem(machine, name, type_) {
            result.components_unhealthy = true;
            result.problems.push(problem);
        }
    }
    if managed && let Some(problem) = problem(machine, name, condition::ETCD_MEMBER) {
        result.etcd_unhealthy = true;
        result.problems.push(problem);
    }
}

fn problem(machine: &Machine, name: &str, type_: &str) -> Option<String> {
    match machine.condition(type_) {
        None => Some(format!("Machine {name} does not have {type_} condition")),
        Some(found) if found.status == FALSE => {
            Some(format!("Machine {name} reports {type_} condition is false ({})", found.message))
        }
        Some(found) if found.status == UNKNOWN => {
            Some(format!("Machine {name} reports {type_} condition is unknown ({})", found.message))
        }
        Some(_) => None,
    }
}
