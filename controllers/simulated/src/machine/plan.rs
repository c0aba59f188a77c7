//! Computes which parts of a simulated machine run at a given moment. Pure functions.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::conditions;
use machinery::clock::parse_rfc3339;
use schemas::meta::Condition;

use super::failures::{self, Asked, Failure};
use super::observed::Observed;
use crate::names::FAILURE_RATE;
use crate::workload::part::Part;
use crate::workload::symptoms::Symptoms;

/// The wanted state of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Whether the machine is being deleted, so that all its parts stop.
    pub stop: bool,
    /// The parts that run.
    pub running: Vec<Part>,
    /// The conditions of the parts, in order.
    pub conditions: Vec<Condition>,
    /// Time until the next part is due to run, or the next failure to show.
    pub due_after: Option<Duration>,
    /// Annotations that record a draw.
    pub annotations: Vec<(&'static str, String)>,
    /// Whether the signal that the bootstrap waits for counts for this machine.
    pub acknowledges_signal: bool,
    /// Whether the machine never becomes a Node.
    pub bootstrap_hangs: bool,
    /// What the workload cluster is to show of failures; `None` if there are none, and were none before.
    pub symptoms: Option<Symptoms>,
    /// The condition about failures.
    pub failure: Option<Condition>,
}

/// The reason of conditions while a machine starts.
pub const WAITING_FOR_STARTUP: &str = "WaitingForStartupTimeout";

/// Returns the parts of a machine.
pub fn parts(control_plane: bool) -> &'static [Part] {
    if control_plane { &Part::ALL } else { &[Part::Vm, Part::Node] }
}

/// Computes which parts run at `now`.
pub fn plan(observed: &Observed<'_>, now: DateTime<Utc>) -> Plan {
    let mut plan = Plan { stop: observed.is_deleting, ..Plan::default() };
    if plan.stop {
        return plan;
    }
    let asked = asked(observed, &mut plan);
    plan.bootstrap_hangs = asked.has(Failure::BootstrapHangs) && transition(observed, Part::Node).is_none();
    for part in parts(observed.control_plane) {
        let condition = match blocked(observed, *part, &plan) {
            Some(reason) => conditions::is_false(part.condition(), reason, ""),
            None => started(observed, *part, now, &mut plan),
        };
        plan.conditions.push(condition);
    }
    plan.acknowledges_signal = observed.signal == Some(true)
        && plan.running.contains(&Part::Node)
        && transition(observed, Part::Node).is_none();
    fail(observed, &asked, now, &mut plan);
    plan
}

/// Returns the failures that annotations ask for, those of a draw included.
fn asked(observed: &Observed<'_>, plan: &mut Plan) -> Asked {
    let mut annotations = observed.annotations.cloned().unwrap_or_default();
    if let (Some(draw), Some(rate)) = (observed.draw, annotations.get(FAILURE_RATE)) {
        plan.annotations = failures::drawn(rate, draw, parts(observed.control_plane));
        let recorded = plan.annotations.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        annotations.extend(recorded);
    }
    Asked::read(&annotations)
}

/// Plans the failures that show at `now`. A machine whose Node runs has bootstrapped.
fn fail(observed: &Observed<'_>, asked: &Asked, now: DateTime<Utc>, plan: &mut Plan) {
    let running = plan.running.clone();
    let since = |part: Part| running.contains(&part).then(|| transition(observed, part).unwrap_or(now));
    let (mut showing, next) = asked.at(now, since);
    showing.retain(|failure| *failure != Failure::BootstrapHangs || plan.bootstrap_hangs);
    let next = next.and_then(|next| next.to_std().ok());
    plan.due_after = [plan.due_after, next].into_iter().flatten().min();
    plan.failure = asked.condition(&showing);
    let failed = conditions::has(observed.conditions, failures::CONDITION, conditions::TRUE);
    plan.symptoms = (failed || !showing.is_empty()).then(|| failures::symptoms(&showing));
}

/// Returns why the part cannot begin to start. A part that runs is never blocked.
fn blocked(observed: &Observed<'_>, part: Part, plan: &Plan) -> Option<&'static str> {
    if transition(observed, part).is_some() {
        return None;
    }
    match part {
        Part::Vm if !observed.infrastructure_provisioned => Some("WaitingForClusterInfrastructureReady"),
        Part::Vm if observed.has_bootstrap_data => None,
        Part::Vm if !observed.control_plane && !observed.control_plane_initialized => {
            Some("WaitingForControlPlaneInitialized")
        }
        Part::Vm => Some("WaitingForBootstrapData"),
        _ if !plan.running.contains(&Part::Vm) => Some("WaitingForVMProvisioned"),
        Part::Node if plan.bootstrap_hangs => Some("BootstrapHangs"),
        Part::Node if observed.signal == Some(false) => Some("WaitingForSignal"),
        Part::Etcd | Part::ApiServer if !plan.running.contains(&Part::Node) => {
            Some("WaitingForNodeProvisioned")
        }
        Part::Node | Part::Etcd | Part::ApiServer => None,
    }
}

/// Returns the condition of a part that is starting or runs.
fn started(observed: &Observed<'_>, part: Part, now: DateTime<Utc>, plan: &mut Plan) -> Condition {
    let remaining = if transition(observed, part).is_some() || observed.bootstrapped {
        TimeDelta::zero()
    } else {
        begin(observed, part, now) + duration(observed, part) - now
    };
    if remaining > TimeDelta::zero() {
        let remaining = remaining.to_std().unwrap_or_default();
        plan.due_after = Some(plan.due_after.map_or(remaining, |due| due.min(remaining)));
        return conditions::is_false(part.condition(), WAITING_FOR_STARTUP, "");
    }
    plan.running.push(part);
    conditions::is_true(part.condition(), "Provisioned")
}

/// Returns when the start-up duration of the part began: when the part before it started to run; for the
/// first part, when it was first seen waiting.
fn begin(observed: &Observed<'_>, part: Part, now: DateTime<Utc>) -> DateTime<Utc> {
    match part.after() {
        Some(before) => transition(observed, before).unwrap_or(now),
        None => started_waiting(observed).unwrap_or(now),
    }
}

/// Returns when the VM began to start. The VM's condition gets a new time when its reason becomes
/// `WaitingForStartupTimeout` (see [`restart_time`]).
fn started_waiting(observed: &Observed<'_>) -> Option<DateTime<Utc>> {
    let condition = find(observed, Part::Vm)?;
    (condition.reason == WAITING_FOR_STARTUP)
        .then(|| parse_rfc3339(&condition.last_transition_time))
        .flatten()
}

/// Returns whether the time of the VM's condition must be set although its status stays `False`: this time is
/// the only record of when the machine began to start.
pub fn restart_time(before: Option<&Condition>, after: &Condition) -> bool {
    after.type_ == Part::Vm.condition()
        && after.reason == WAITING_FOR_STARTUP
        && before.is_none_or(|before| before.reason != WAITING_FOR_STARTUP)
}

/// Returns the plan for a paused machine at `now`: what ran when it was paused runs, and nothing else begins. A pause stops the
/// controller and not the machine, which a restart of this process would otherwise end.
pub fn while_paused(observed: &Observed<'_>, now: DateTime<Utc>) -> Plan {
    let mut plan = plan(&Observed { draw: None, ..observed.clone() }, now);
    plan.running.retain(|part| transition(observed, *part).is_some());
    plan
}

/// Returns since when the part runs; `None` if it does not.
fn transition(observed: &Observed<'_>, part: Part) -> Option<DateTime<Utc>> {
    let condition = find(observed, part)?;
    (condition.status == conditions::TRUE).then(|| parse_rfc3339(&condition.last_transition_time)).flatten()
}

fn find<'a>(observed: &Observed<'a>, part: Part) -> Option<&'a Condition> {
    observed.conditions.iter().find(|condition| condition.type_ == part.condition())
}

/// Returns the start-up duration plus jitter. The jitter is at most that fraction of the duration, and the
/// same each time for one machine.
pub fn duration(observed: &Observed<'_>, part: Part) -> TimeDelta {
    let provisioning = observed
        .backend
        .and_then(|backend| part.component(backend))
        .and_then(|component| component.provisioning.as_ref());
    let Some(provisioning) = provisioning else { return TimeDelta::zero() };
    let base = machinery::duration::parse(&provisioning.startup_duration).unwrap_or_default().as_secs_f64();
    let jitter: f64 =
        provisioning.startup_jitter.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let fraction = fraction(&format!("{}/{}", observed.uid, part.condition()));
    let seconds = base * (1.0 + jitter.clamp(0.0, 1.0) * fraction);
    TimeDelta::try_milliseconds((seconds * 1000.0) as i64).unwrap_or_default()
}

/// Returns a number in 0..1 derived from `seed` (FNV-1a).
fn fraction(seed: &str) -> f64 {
    let hash = machinery::hash::fnv1a_64(seed.as_bytes());
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
