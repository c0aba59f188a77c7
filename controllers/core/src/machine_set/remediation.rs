//! The remediation of unhealthy Machines: they are deleted, so that others take their place.

use std::cmp::Reverse;
use std::sync::Arc;

use engine::conditions::{self, FALSE, TRUE, is_false};
use engine::names::REMEDIATE_MACHINE;
use engine::object::{annotation, is_deleting, uid};
use engine::owners;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineDeployment};
use schemas::defaults::REPLICAS;

use super::facts::is_of_deployment;
use super::observed::Observed;
use super::plan::Step;
use crate::amount;
use crate::machine_deployment::REVISION;

/// The condition that says what the owner of an unhealthy Machine does about it. A MachineHealthCheck sets it first.
const OWNER_REMEDIATED: &str = "OwnerRemediated";
const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
const MACHINE_DELETING: &str = "MachineDeleting";
const DEFERRED: &str = "RemediationDeferred";

/// What the remediation of a Machine needs.
pub struct Remediation {
    /// The Machine as it was read.
    pub machine: Arc<Machine>,
    /// The Machine with its wanted condition.
    pub wanted: Machine,
    /// Whether the Machine is deleted.
    pub deletes: bool,
}

impl Remediation {
    /// Returns the steps. The condition comes first: in the other order, a process that ends in between would leave a Machine whose
    /// deletion does not count as remediation.
    pub(super) fn steps(self) -> impl Iterator<Item = Step> {
        let Self { machine, wanted, deletes } = self;
        let mark = Step::patch_owned(&machine, wanted, &[OWNER_REMEDIATED]).unless_gone();
        std::iter::once(mark).chain(deletes.then(|| Step::delete(&machine)))
    }
}

/// Plans the remediation of the MachineSet's Machines. `blocked` has the reasons why no Machine may be created now.
pub fn plan(observed: &Observed, blocked: &[String]) -> Vec<Remediation> {
    let own: Vec<&Arc<Machine>> = observed
        .machines
        .iter()
        .filter(|machine| owners::is_controlled_by(machine.as_ref(), uid(observed.set.as_ref())))
        .collect();
    let mut steps: Vec<Remediation> = own.iter().filter_map(|machine| recovered(machine)).collect();
    let mut candidates: Vec<&Arc<Machine>> =
        own.iter().filter(|machine| is_candidate(machine)).copied().collect();
    candidates.sort_by_key(|machine| {
        // Machines that somebody wants to be remediated go first.
        let is_wanted = annotation(machine.as_ref(), REMEDIATE_MACHINE).is_some();
        let created = machine.metadata.creation_timestamp.as_ref().map(engine::time::utc);
        (!is_wanted, Reverse(created), machine.metadata.name.clone())
    });
    let mut mark = |machines: &[&Arc<Machine>], reason: &str, message: &str, deletes: bool| {
        steps.extend(machines.iter().filter_map(|machine| {
            let mut wanted = machine.as_ref().clone();
            let condition = is_false(OWNER_REMEDIATED, reason, message);
            conditions::set(&mut wanted, observed.now, condition);
            let is_needed = deletes || wanted != ***machine;
            is_needed.then(|| Remediation { machine: Arc::clone(machine), wanted, deletes })
        }));
    };
    if is_outdated(observed) {
        let message = "Machine won't be remediated because it is pending removal due to rollout";
        mark(&candidates, "CannotBeRemediated", message, false);
        return steps;
    }
    let limit = observed.deployment.as_deref().and_then(limit);
    let (now, later) = match limit {
        None => (candidates.as_slice(), [].as_slice()),
        Some(limit) => {
            let in_flight = own.iter().filter(|machine| is_in_flight(machine)).count();
            candidates.split_at(limit.saturating_sub(in_flight).min(candidates.len()))
        }
    };
    mark(later, DEFERRED, &too_many(observed), false);
    if blocked.is_empty() {
        mark(now, MACHINE_DELETING, "Machine is deleting", true);
    } else {
        mark(now, DEFERRED, &blocked.join("\n"), false);
    }
    steps
}

/// Returns whether the MachineSet is to remediate the Machine.
fn is_candidate(machine: &Machine) -> bool {
    let is_false = |type_: &str| conditions::has(machine.conditions(), type_, FALSE);
    is_false(HEALTH_CHECK_SUCCEEDED) && is_false(OWNER_REMEDIATED) && !is_deleting(machine)
}

/// Removes `OwnerRemediated` of a Machine that became healthy before anything was done.
fn recovered(machine: &Arc<Machine>) -> Option<Remediation> {
    let is_healthy = conditions::has(machine.conditions(), HEALTH_CHECK_SUCCEEDED, TRUE);
    let is_marked = conditions::has(machine.conditions(), OWNER_REMEDIATED, FALSE);
    if !is_healthy || !is_marked || is_deleting(machine.as_ref()) {
        return None;
    }
    let mut wanted = machine.as_ref().clone();
    conditions::remove(&mut wanted, OWNER_REMEDIATED);
    Some(Remediation { machine: machine.clone(), wanted, deletes: false })
}

/// Returns whether the Machine is being deleted because it was unhealthy.
fn is_in_flight(machine: &Machine) -> bool {
    let condition = machine.condition(OWNER_REMEDIATED);
    let is_remediated =
        condition.is_some_and(|condition| condition.status == FALSE && condition.reason == MACHINE_DELETING);
    is_deleting(machine) && is_remediated
}

/// Returns whether the MachineSet's Machines go anyway, because the MachineDeployment has a later revision.
fn is_outdated(observed: &Observed) -> bool {
    let revision = observed.deployment.as_deref().and_then(|deployment| annotation(deployment, REVISION));
    is_of_deployment(&observed.set) && annotation(observed.set.as_ref(), REVISION) != revision
}

fn max_in_flight(deployment: &MachineDeployment) -> Option<&IntOrString> {
    deployment.spec.remediation.as_ref()?.max_in_flight.as_ref()
}

/// Returns the number of Machines that may be remediated at once; `None` if it is not limited.
fn limit(deployment: &MachineDeployment) -> Option<usize> {
    let value = max_in_flight(deployment)?;
    let replicas = deployment.spec.replicas.unwrap_or(REPLICAS);
    usize::try_from(amount::resolve(value, replicas, true)?).ok()
}

fn too_many(observed: &Observed) -> String {
    let limit = observed.deployment.as_deref().and_then(max_in_flight).map(amount::text).unwrap_or_default();
    format!(
        "Waiting because there are already too many remediations in progress (spec.strategy.remediation.maxInFlight is {limit})"
    )
}
