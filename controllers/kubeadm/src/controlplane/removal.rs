//! Decides when a member is removed from etcd, and when a control plane Machine may be terminated. Pure
//! functions.
//!
//! Invariant: a member is removed only if the remaining members, each asked at that moment, form a quorum,
//! and only one Machine is terminated at a time (tests/control_plane.rs).

use engine::etcd::Member;
use engine::object;
use schemas::HasConditions;

use super::etcd_members::{self, Remaining};
use super::observed::{ControlPlaneMachine, Observed, is_healthy};
use super::record;
use super::remediation::candidates::is_candidate;
use super::situation::{Decision, Situation};
use super::step::Step;
use crate::etcd::Etcd;
use crate::names::{self, condition};

/// Returns whether this plan may remove a member from etcd, or depend on the quorum without one, so that each member must be asked for
/// its status.
pub fn must_ask_members(observed: &Observed, etcd: &Etcd) -> bool {
    waiting_for_hook(observed).is_some()
        || etcd_members::unexpected(observed, etcd).next().is_some()
        || observed.machines.iter().any(|member| is_candidate(&member.machine))
        || record::carried(observed).is_some()
}

/// Returns the removal of an etcd member that belongs to no Machine, if the removal is safe.
pub(super) fn unexpected_member(situation: &Situation<'_>) -> Option<Step> {
    let observed = situation.observed;
    let (etcd, view) = (observed.etcd()?, observed.workload.as_ref()?);
    // The member may belong to a Machine that has no Node yet, unless that Machine is about to be terminated.
    let leaving = waiting_for_hook(observed).map(ControlPlaneMachine::name);
    let joins = |member: &ControlPlaneMachine| member.node().is_none() && Some(member.name()) != leaving;
    if observed.machines.iter().any(joins) || etcd.members.len() == 1 {
        return None;
    }
    // A member without a name may belong to any Node without a member. If it belongs to none, etcd allows its
    // removal at any time.
    let lacks_member = |member: &ControlPlaneMachine| {
        !member.is_deleting() && member.node().is_some_and(|node| etcd.member(node).is_none())
    };
    let is_safe = |member: &&Member| match member.name.is_empty() {
        true => !observed.machines.iter().any(lacks_member),
        false => etcd_members::without(view, etcd, Some(member.id)).is_quorum(),
    };
    etcd_members::unexpected(observed, etcd).find(is_safe).map(|member| Step::RemoveMember(member.id))
}

/// Returns whether a Machine has this control plane's pre-terminate hook.
pub(super) fn has_hook(member: &ControlPlaneMachine) -> bool {
    object::annotation(member.machine.as_ref(), names::CLEANUP_HOOK).is_some()
}

/// Returns the oldest Machine in deletion that waits for this control plane's hook and for no other hook.
fn waiting_for_hook(observed: &Observed) -> Option<&ControlPlaneMachine> {
    let oldest =
        observed.machines.iter().filter(|member| member.is_deleting() && has_hook(member)).min_by_key(
            |member| {
                (member.machine.metadata.deletion_timestamp.clone().map(|at| at.0), member.name().to_owned())
            },
        )?;
    let reason = oldest.machine.condition(condition::DELETING).map(|found| found.reason.as_str());
    let mut annotations = oldest.machine.metadata.annotations.iter().flatten();
    let others = annotations
        .any(|(key, _)| key.starts_with(names::PRE_TERMINATE_PREFIX) && key != names::CLEANUP_HOOK);
    (reason == Some("WaitingForPreTerminateHook") && !others).then_some(oldest)
}

/// Decides while the workload cluster is unreachable: the last Machine may be terminated, any other one
/// waits.
pub(super) fn terminate_blindly(observed: &Observed) -> Option<Decision> {
    let member = waiting_for_hook(observed)?;
    if observed.machines.len() == 1 {
        return Some(Decision::steps(vec![Step::RemoveHook(member.name().to_owned())]));
    }
    Some(waits(member, "the workload cluster can't be reached".to_owned()))
}

/// Returns a decision that keeps a Machine, with the reason.
fn waits(member: &ControlPlaneMachine, why: String) -> Decision {
    Decision::waiting(format!("Machine {} can't be terminated yet: {why}", member.name()))
}

/// Removes the etcd member of a Machine in deletion, then its hook. `None` if no Machine waits for its hook;
/// a decision without steps if the Machine must wait longer.
pub(super) fn terminate(situation: &Situation<'_>) -> Option<Decision> {
    let observed = situation.observed;
    let member = waiting_for_hook(observed)?;
    let remove_hook = Step::RemoveHook(member.name().to_owned());
    let waits = |why: String| Some(waits(member, why));
    if let Some(going) = observed.machines.iter().find(|other| other.is_deleting() && !has_hook(other)) {
        // One Machine at a time: the deletion of the current one is an event.
        return waits(format!("Machine {} is being terminated", going.name()));
    }
    if observed.machines.len() == 1 {
        return Some(Decision::steps(vec![remove_hook]));
    }
    let managed = observed.is_etcd_managed();
    if !situation.others(member).any(|machine| is_healthy(machine, managed)) {
        return waits("no other control plane Machine is healthy".to_owned());
    }
    if !managed {
        return Some(Decision::steps(vec![remove_hook]));
    }
    let (Some(etcd), Some(view)) = (observed.etcd(), &observed.workload) else {
        return waits("etcd does not report its members".to_owned());
    };
    let Some(node) = node_of(observed, member) else {
        // A member without a Machine may belong to this one; it is removed first by [`unexpected_member`].
        return match etcd_members::unexpected(observed, etcd).next() {
            Some(stray) => waits(format!("etcd member {:?} may be its own", stray.name)),
            None => Some(Decision::steps(vec![remove_hook])),
        };
    };
    let mut steps = Vec::new();
    if let Some(found) = etcd.member(&node) {
        let left = etcd_members::without(view, etcd, Some(found.id));
        if !left.is_quorum() {
            return waits(quorum_would_be_lost(left));
        }
        steps.extend(forward_leadership(observed, member));
        steps.push(Step::RemoveMember(found.id));
    }
    steps.push(remove_hook);
    Some(Decision::steps(steps))
}

fn quorum_would_be_lost(left: Remaining) -> String {
    if left.is_changing {
        return "another member of etcd has not joined completely".to_owned();
    }
    format!(
        "without its member, {} of {} members of etcd would be healthy, and {} are needed: first mend or delete the Machines of \
         those that are not",
        left.well,
        left.members,
        left.needed()
    )
}

/// Returns the name of a Machine's Node, from its status or else by its provider ID.
pub(super) fn node_of(observed: &Observed, member: &ControlPlaneMachine) -> Option<String> {
    if let Some(name) = member.node() {
        return Some(name.to_owned());
    }
    let id = member.machine.spec.provider_id.as_deref().filter(|id| !id.is_empty())?;
    let view = observed.workload.as_ref()?;
    let found = view
        .nodes
        .iter()
        .find(|(_, node)| node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) == Some(id));
    found.map(|(name, _)| name.clone())
}

/// Returns whether the Machine's member leads etcd.
pub(super) fn leads(observed: &Observed, member: &ControlPlaneMachine) -> bool {
    let own = || observed.etcd()?.member(member.node()?).map(|found| found.id);
    own().is_some_and(|id| observed.etcd().is_some_and(|etcd| etcd.leader == id))
}

/// Returns the step that moves etcd's leadership away from a Machine that will be deleted. A leader on a Node that is cut off is not
/// asked, because the request goes through its kubelet; the other members elect another one when it is removed.
pub(super) fn forward_leadership(observed: &Observed, leaving: &ControlPlaneMachine) -> Option<Step> {
    let (etcd, view) = (observed.etcd()?, observed.workload.as_ref()?);
    let node =
        leaving.node().filter(|node| leads(observed, leaving) && !etcd_members::is_cut_off(view, node))?;
    let next = etcd_members::next_leader(observed, etcd, leaving)?;
    Some(Step::MoveLeader { from: node.to_owned(), to: next.id })
}
