//! Updates of Machines in place, instead of their replacement: when one is tried, and which ones are under way. Pure functions.

mod update;

use engine::in_place::{self, Decision};
use engine::names::{DELETE_MACHINE, REMEDIATE_MACHINE};
use engine::object::annotation;

use crate::controlplane::observed::{ControlPlaneMachine, Observed};
use crate::controlplane::outdated;
use crate::controlplane::preflight::{self, Preflight};
use crate::controlplane::situation::Situation;
use crate::controlplane::step::Step;

pub(super) use update::{Updates, start};

/// What comes before a Machine is deleted.
pub(crate) enum Attempt {
    /// The control plane is not ready for an update, nor for a deletion.
    Wait(Preflight),
    /// Ask whether the Machine can be updated.
    Ask,
    /// Update the Machine.
    Start,
    /// Delete it: it is no better, or nobody can update it.
    Delete,
}

/// Returns the steps that finish starts of updates which were interrupted. A start is never taken back.
pub(crate) fn unfinished(observed: &Observed) -> Vec<Step> {
    let is_unfinished = |member: &&ControlPlaneMachine| {
        let machine = member.machine.as_ref();
        !member.is_deleting() && in_place::is_marked(machine) && !in_place::is_hook_pending(machine)
    };
    let members = observed.machines.iter().filter(|_| observed.updates_in_place).filter(is_unfinished);
    members.map(|member| Step::StartUpdate(member.name().to_owned())).collect()
}

/// Returns whether a Machine is being updated, so that nothing else is scaled or replaced.
pub(crate) fn is_any_updated(observed: &Observed) -> bool {
    observed.machines.iter().any(|member| in_place::is_in_progress(member.machine.as_ref()))
}

/// Decides what comes before the outdated Machine `victim` is deleted. An update is only tried where the control plane could do without the Machine,
/// because it can fail.
pub(crate) fn attempt(situation: &Situation<'_>, victim: &ControlPlaneMachine) -> Attempt {
    let observed = situation.observed;
    let up_to_date = observed.machines.len().saturating_sub(situation.outdated.len());
    if up_to_date >= observed.desired_replicas() || !is_eligible(situation, victim) {
        return Attempt::Delete;
    }
    let checks = |except| preflight::check(observed, &situation.machines, false, except);
    let all = checks(None);
    if !all.passed() {
        let is_its_own = checks(Some(victim.name())).passed();
        return if is_its_own { Attempt::Delete } else { Attempt::Wait(all) };
    }
    match observed.decisions.get(victim.name()) {
        None => Attempt::Ask,
        Some(Decision::InPlace) => Attempt::Start,
        Some(Decision::Rollout(_)) => Attempt::Delete,
    }
}

/// Returns whether an update could bring the Machine up to date. One that a user wants to go, or that is too old, is replaced.
fn is_eligible(situation: &Situation<'_>, member: &ControlPlaneMachine) -> bool {
    let observed = situation.observed;
    let is_asked_to_go = [DELETE_MACHINE, REMEDIATE_MACHINE]
        .iter()
        .any(|key| annotation(member.machine.as_ref(), key).is_some());
    observed.updates_in_place
        && !member.is_deleting()
        && !is_asked_to_go
        && member.config.is_some()
        && member.cloned_from.is_some()
        && !outdated::is_too_old(observed, member, situation.now)
}
