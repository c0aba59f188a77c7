//! The rules of the MachineHealthCheck controller.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false, is_true, is_unknown};
use engine::names::{CLUSTER_NAME, PAUSED};
use engine::object::annotation;
use engine::steps::Event;
use engine::v1beta1::{self, Severity};
use engine::{Action, Error, ExternalObject, owners};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineHealthCheck};
use schemas::meta::{Condition, V1Beta1Condition};

use super::health::{self, Health};
use super::observed::{Observed, Target};
use super::trigger::{self, Counts};
use super::{SUCCEEDED, remedy};

/// Annotation on Machines that no MachineHealthCheck looks at.
const SKIP: &str = "cluster.x-k8s.io/skip-remediation";
const ALLOWED: &str = "RemediationAllowed";
/// Times in conditions are whole seconds, so that a state lasts too long for certain one second after its time-out.
const RESOLUTION: Duration = Duration::from_secs(1);

/// The changes that a MachineHealthCheck needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachineHealthCheck with its wanted metadata and status.
    pub check: MachineHealthCheck,
    /// Machines whose conditions change, in the order in which they are to be written.
    pub marks: Vec<Mark>,
    /// Objects that asked for the remediation of Machines that are healthy again, to be deleted.
    pub delete: Vec<ExternalObject>,
    /// Events to record about the MachineHealthCheck.
    pub events: Vec<Event>,
    /// When to reconcile again.
    pub action: Action,
    /// Errors that the reconcile returns.
    pub errors: Vec<Error>,
}

/// The result of the checks of a Machine.
#[derive(Debug)]
pub struct Mark {
    /// The Machine as it was read.
    pub machine: Arc<Machine>,
    /// The Machine with its wanted conditions.
    pub wanted: Machine,
    /// The object that asks an external controller to remediate the Machine, to be created before the conditions are written.
    pub create: Option<(DynamicObject, ApiResource)>,
    /// Whether the Machine is marked for remediation now, and was not before.
    pub is_new: bool,
}

/// Applies all rules of a MachineHealthCheck. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { check: observed.check.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.check, Some(&observed.cluster), observed.now);
    let name = observed.check.spec.cluster_name.clone();
    plan.check.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
    owners::ensure(&mut plan.check, owners::reference(observed.cluster.as_ref(), &()));
    // While the Nodes are out of reach, the last results stay as they are.
    if let Some(targets) = &observed.targets {
        check(&mut plan, observed, targets);
    }
    plan
}

fn check(plan: &mut Plan, observed: &Observed, targets: &[Target]) {
    let checks = observed.check.spec.checks.clone().unwrap_or_default();
    let is_watched = |target: &&Target| {
        [PAUSED, SKIP].iter().all(|key| annotation(target.machine.as_ref(), key).is_none())
    };
    let mut found: Vec<(&Target, Health)> = targets
        .iter()
        .filter(is_watched)
        .map(|target| {
            let (machine, node) = (target.machine.as_ref(), &target.node);
            (target, health::of(&checks, &observed.cluster, machine, node, observed.now))
        })
        .collect();
    let counts = status(plan, observed, &found);
    let is_allowed = decide(plan, observed, counts);
    // The conditions of healthy Machines are written first. Otherwise a Machine could be marked for remediation while more Machines than the
    // limit still have the condition of an unhealthy one.
    found.sort_by_key(|(_, health)| *health != Health::Healthy);
    for (target, health) in &found {
        match health {
            Health::Healthy => healthy(plan, observed, target),
            Health::Unhealthy(reason, message) => {
                unhealthy(plan, observed, target, is_false(SUCCEEDED, reason, message.clone()), is_allowed);
            }
            Health::Failing(end) => look_again(plan, *end, observed.now),
            Health::Unknown => {}
        }
    }
}

/// Sets the counters and the list of Machines.
fn status(plan: &mut Plan, observed: &Observed, found: &[(&Target, Health)]) -> Counts {
    let count = |is: &dyn Fn(&Health) -> bool| {
        i32::try_from(found.iter().filter(|(_, health)| is(health)).count()).unwrap_or(i32::MAX)
    };
    let counts = Counts {
        expected: count(&|_| true),
        healthy: count(&|health| *health == Health::Healthy),
        failed: count(&|health| matches!(health, Health::Unhealthy(..))),
    };
    let status = plan.check.status.get_or_insert_default();
    status.expected_machines = Some(counts.expected);
    status.current_healthy = Some(counts.healthy);
    status.targets = found.iter().filter_map(|(target, _)| target.machine.metadata.name.clone()).collect();
    status.targets.sort_unstable();
    status.observed_generation = observed.check.metadata.generation;
    counts
}

/// Sets `RemediationAllowed`; returns whether it is.
fn decide(plan: &mut Plan, observed: &Observed, counts: Counts) -> bool {
    let remediation = observed.check.spec.remediation.clone().unwrap_or_default();
    let (more, condition) = match trigger::decide(&remediation.trigger_if.unwrap_or_default(), counts) {
        Ok(Ok(more)) => (Some(more), is_true(ALLOWED, ALLOWED)),
        Ok(Err(message)) => (None, is_false(ALLOWED, "TooManyUnhealthy", message)),
        // Only a change of the spec, which is an event, ends this.
        Err(message) => (None, is_unknown(ALLOWED, "InternalError", message)),
    };
    let before = observed.check.condition(ALLOWED).map(|before| before.message.as_str());
    if condition.status == conditions::FALSE && counts.failed > 0 && before != Some(&condition.message) {
        plan.events.push(Event::warning("RemediationRestricted", condition.message.clone()));
    }
    let status = plan.check.status.get_or_insert_default();
    status.remediations_allowed = Some(more.unwrap_or(0));
    let older = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    v1beta1::set(&mut older.conditions, observed.now, for_older_clients(&condition));
    conditions::set(&mut plan.check, observed.now, condition);
    more.is_some()
}

/// Returns `RemediationAllowed` for clients of the API version v1beta1.
fn for_older_clients(condition: &Condition) -> V1Beta1Condition {
    match condition.status.as_str() {
        conditions::TRUE => v1beta1::is_true(ALLOWED),
        conditions::FALSE => {
            v1beta1::is_false(ALLOWED, Severity::Warning, &condition.reason, condition.message.as_str())
        }
        _ => v1beta1::is_unknown(ALLOWED, &condition.reason, condition.message.as_str()),
    }
}

fn healthy(plan: &mut Plan, observed: &Observed, target: &Target) {
    let mut wanted = target.machine.as_ref().clone();
    conditions::set(&mut wanted, observed.now, is_true(SUCCEEDED, SUCCEEDED));
    plan.mark(Mark { machine: target.machine.clone(), wanted, create: None, is_new: false });
    plan.delete.extend(remedy::obsolete(target));
}

/// Marks a Machine of which a check fails, and has it remediated if this is allowed.
fn unhealthy(plan: &mut Plan, observed: &Observed, target: &Target, condition: Condition, is_allowed: bool) {
    let mut mark = Mark {
        machine: target.machine.clone(),
        wanted: target.machine.as_ref().clone(),
        create: None,
        is_new: false,
    };
    conditions::set(&mut mark.wanted, observed.now, condition);
    if is_allowed {
        plan.errors.extend(remedy::ask(&mut mark, observed, target).err());
    }
    plan.mark(mark);
}

fn look_again(plan: &mut Plan, end: DateTime<Utc>, now: DateTime<Utc>) {
    let left = (end - now).to_std().unwrap_or_default() + RESOLUTION;
    plan.action = plan.action.min(Action::requeue_after(left));
}

impl Plan {
    fn mark(&mut self, mark: Mark) {
        if mark.create.is_some() || mark.wanted != *mark.machine {
            self.marks.push(mark);
        }
    }
}
