//! Remediation: an unhealthy Machine is deleted, and scaling creates another one in its place. Pure functions.
//!
//! It takes two plans. The first one records the remediation in an annotation of the control plane, the second one deletes the Machine; so
//! a process that ends in between goes on with the same try. The new Machine carries the record, and then it leaves the control plane.
//!
//! Invariant: a Machine is deleted only if the etcd members of the others form a quorum (tests/control_plane/remediation.rs).

pub mod candidates;
mod choose;
pub(super) mod outcome;
mod retry;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE, is_false};
use engine::object;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::meta::Condition;

use super::etcd_members;
use super::observed::{ControlPlaneMachine, Observed, are_components_healthy};
use super::preflight::pending_topology_version;
use super::record::{self, Record};
use super::removal::{forward_leadership, leads, node_of};
use super::situation::Situation;
use super::step::Step;
use crate::names::{self, condition};
use candidates::{is_candidate, is_unhealthy};
use outcome::Remediation;

const CANNOT: &str = "CannotBeRemediated";
const DEFERRED: &str = "RemediationDeferred";
const DELETING: &str = "MachineDeleting";
const INTERNAL_ERROR: &str = "InternalError";

/// Why a Machine is not remediated now.
struct Refusal {
    reason: &'static str,
    message: String,
    /// When the answer may be another one without an event.
    due: Option<DateTime<Utc>>,
}

impl Refusal {
    fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), due: None }
    }
}

/// Returns the condition of a Machine whose remediation failed.
pub(super) fn failed(error: &engine::Error) -> Condition {
    is_false(condition::OWNER_REMEDIATED, INTERNAL_ERROR, error.to_string())
}

/// Plans the remediation of the control plane's Machines.
pub(super) fn plan(situation: &Situation<'_>, now: DateTime<Utc>) -> Remediation {
    let observed = situation.observed;
    let mut plan = Remediation::default();
    for member in observed.machines.iter().filter(|member| has_recovered(&member.machine)) {
        plan.conditions.insert(member.name().to_owned(), None);
    }
    let record = match record::in_progress(observed) {
        Ok(record) => record,
        Err(message) => {
            for member in observed.machines.iter().filter(|member| is_candidate(&member.machine)) {
                plan.mark(member, INTERNAL_ERROR, message.as_str());
            }
            let text = object::annotation(observed.control_plane.as_ref(), names::REMEDIATION_IN_PROGRESS);
            plan.record = text.map(str::to_owned);
            return plan;
        }
    };
    match record {
        None => begin(&mut plan, situation, now),
        Some(record) => {
            let recorded = observed.member(&record.machine);
            match recorded.filter(|member| !member.is_deleting()) {
                Some(member) if is_candidate(&member.machine) => go_on(&mut plan, situation, member, &record),
                // It became healthy before it was deleted.
                Some(_) => begin(&mut plan, situation, now),
                None => wait(&mut plan, situation, &record, recorded.is_some()),
            }
        }
    }
    plan
}

/// Records the remediation of the most broken Machine, if it may be remediated.
fn begin(plan: &mut Remediation, situation: &Situation<'_>, now: DateTime<Utc>) {
    let observed = situation.observed;
    let managed = observed.is_etcd_managed();
    let Some(member) = choose::most_broken(&observed.machines, &situation.machines, managed) else { return };
    let allowed = check_version(observed)
        .and_then(|()| retry::next(&observed.control_plane, member, now))
        .and_then(|record| check_others(situation, member).map(|()| record));
    match allowed {
        Ok(record) => {
            plan.record = Some(record.text());
            plan.steps = Some(Vec::new());
        }
        Err(refusal) => {
            plan.due = refusal.due;
            plan.mark(member, refusal.reason, refusal.message);
        }
    }
}

/// Deletes the Machine whose remediation is recorded, unless it has become unsafe.
fn go_on(plan: &mut Remediation, situation: &Situation<'_>, member: &ControlPlaneMachine, record: &Record) {
    match check_version(situation.observed).and_then(|()| check_others(situation, member)) {
        Ok(()) => {
            plan.record = Some(record.text());
            plan.mark(member, DELETING, "Machine is deleting");
            plan.deletes = Some(member.name().to_owned());
            let mut steps: Vec<Step> = forward_leadership(situation.observed, member).into_iter().collect();
            steps.push(Step::DeleteMachine(member.name().to_owned()));
            plan.steps = Some(steps);
        }
        Err(refusal) => plan.mark(member, refusal.reason, refusal.message),
    }
}

/// Lets other unhealthy Machines wait while a remediation is in progress.
fn wait(plan: &mut Remediation, situation: &Situation<'_>, record: &Record, is_deleting: bool) {
    let observed = situation.observed;
    let is_needed = is_deleting
        || observed.machines.len() < observed.desired_replicas()
        || !situation.outdated_machines().is_empty();
    if !is_needed {
        // Nothing takes the Machine's place, since the control plane has become smaller.
        return;
    }
    plan.record = Some(record.text());
    let message = if is_deleting { WAITS_FOR_DELETION } else { WAITS_FOR_PROVISIONING };
    for member in observed.machines.iter().filter(|member| is_candidate(&member.machine)) {
        plan.mark(member, DEFERRED, message);
    }
}

const WAITS_FOR_DELETION: &str = "KubeadmControlPlane waiting for control plane Machine deletion to complete before triggering remediation";
const WAITS_FOR_PROVISIONING: &str = "KubeadmControlPlane waiting for control plane Machine provisioning to complete before triggering remediation";

/// Returns whether a Machine became healthy before anything was done about it.
fn has_recovered(machine: &Machine) -> bool {
    conditions::has(machine.conditions(), condition::HEALTH_CHECK_SUCCEEDED, TRUE)
        && conditions::has(machine.conditions(), condition::OWNER_REMEDIATED, FALSE)
        && !object::is_deleting(machine)
}

/// The topology is about to set another version, which replaces the Machine anyway.
fn check_version(observed: &Observed) -> Result<(), Refusal> {
    match pending_topology_version(observed) {
        None => Ok(()),
        Some(version) => Err(Refusal::new(
            DEFERRED,
            format!(
                "KubeadmControlPlane can't remediate while waiting for a version upgrade to {version} to be propagated from \
                 Cluster.spec.topology"
            ),
        )),
    }
}

/// Checks that the other Machines carry the control plane alone. One that is not initialised has nothing to lose.
fn check_others(situation: &Situation<'_>, member: &ControlPlaneMachine) -> Result<(), Refusal> {
    let observed = situation.observed;
    if !observed.is_initialized() {
        return Ok(());
    }
    if observed.machines.len() <= 1 {
        let text = "KubeadmControlPlane can't remediate if current replicas are less or equal to 1";
        return Err(Refusal::new(CANNOT, text));
    }
    if observed.machines.iter().any(|other| other.node().is_none() && !is_unhealthy(&other.machine)) {
        return Err(Refusal::new(DEFERRED, WAITS_FOR_PROVISIONING));
    }
    if observed.machines.iter().any(ControlPlaneMachine::is_deleting) {
        return Err(Refusal::new(DEFERRED, WAITS_FOR_DELETION));
    }
    check_health(situation, member)
}

/// Checks the components and etcd members of the other Machines.
fn check_health(situation: &Situation<'_>, member: &ControlPlaneMachine) -> Result<(), Refusal> {
    let observed = situation.observed;
    let managed = observed.is_etcd_managed();
    let unsafe_now = || {
        let text = "KubeadmControlPlane can't remediate this Machine because this could result in loosing Kubernetes control plane \
                    components or in etcd quorum loss";
        Err(Refusal::new(CANNOT, text))
    };
    if !situation.others(member).any(|machine| are_components_healthy(machine, managed)) {
        return unsafe_now();
    }
    if !managed {
        return Ok(());
    }
    let (Some(etcd), Some(view)) = (observed.etcd(), &observed.workload) else {
        let text = "KubeadmControlPlane waiting for etcd to report the list of members before triggering remediation";
        return Err(Refusal::new(DEFERRED, text));
    };
    // Without a Node, the Machine's member is not known. The quorum is checked again before any member is removed.
    let Some(node) = node_of(observed, member) else { return Ok(()) };
    let id = etcd.member(&node).map(|found| found.id);
    if !etcd_members::without(view, etcd, id).is_quorum() {
        return unsafe_now();
    }
    if leads(observed, member)
        && forward_leadership(observed, member).is_none()
        && !etcd_members::is_cut_off(view, &node)
    {
        let text = "KubeadmControlPlane can't remediate this Machine because there is no healthy Machine to forward etcd leadership to";
        return Err(Refusal::new(CANNOT, text));
    }
    Ok(())
}
