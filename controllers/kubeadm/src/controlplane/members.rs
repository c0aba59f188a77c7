//! etcd's members against Machines: quorum, what does not match, who may lead. Pure.

use chrono::{DateTime, Duration, Utc};
use engine::etcd::Member;
use schemas::HasConditions;
use schemas::cluster::Machine;

use super::observed::{ControlPlaneMachine, Observed, node_name};
use crate::etcd::Etcd;
use crate::names::condition;

/// How long a node may be without a member before that counts.
const NEW_NODE: Duration = Duration::minutes(2);

/// What does not match between members and Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Members without a Machine, in words.
    pub errors: Vec<String>,
    /// Whether the control plane counts as not available because of it.
    pub matters: bool,
}

/// Compares members and Machines.
pub fn compare(observed: &Observed, now: DateTime<Utc>) -> Mismatch {
    let (Some(etcd), Some(view)) = (observed.etcd(), &observed.workload) else { return Mismatch::default() };
    let mut mismatch = Mismatch::default();
    for member in observed.machines.iter().filter(|member| !member.is_deleting()) {
        let Some(node) = member.node().filter(|node| etcd.member(node).is_none()) else { continue };
        let created = view.nodes.get(node).and_then(|node| node.metadata.creation_timestamp.as_ref());
        mismatch.matters |= created.is_some_and(|created| now - engine::time::utc(created) > NEW_NODE);
    }
    let provisioning = is_provisioning(observed);
    for member in unexpected(observed, etcd) {
        let name = if member.name.is_empty() {
            format!("{} (Name not yet assigned)", member.id)
        } else {
            member.name.clone()
        };
        mismatch.errors.push(format!("Etcd member {name} does not have a corresponding Machine"));
        mismatch.matters |= !provisioning;
    }
    mismatch
}

/// Whether a Machine has no node yet: a member without a Machine may be its.
pub fn is_provisioning(observed: &Observed) -> bool {
    observed.machines.iter().any(|member| member.node().is_none())
}

/// Members that belong to no Machine's node.
pub fn unexpected<'a>(observed: &'a Observed, etcd: &'a Etcd) -> impl Iterator<Item = &'a Member> {
    etcd.members.iter().filter(|member| {
        member.name.is_empty()
            || !observed.machines.iter().any(|machine| machine.node() == Some(member.name.as_str()))
    })
}

/// Whether a member is well: by its Machine's condition, or, without a Machine, unless it reports an alarm.
fn is_well(etcd: &Etcd, member: &Member, machines: &[Machine]) -> bool {
    let machine = machines.iter().find(|machine| node_name(machine) == Some(member.name.as_str()));
    match machine {
        Some(machine) => machine.condition_is_true(condition::ETCD_MEMBER),
        None => etcd.alarms_of(member.id).next().is_none(),
    }
}

/// Whether etcd keeps its quorum without the member `id`. A learner or a member that has not started makes that unsafe to say.
pub fn is_safe_to_remove(etcd: &Etcd, id: u64, machines: &[Machine]) -> bool {
    if etcd.members.iter().any(|member| member.is_learner || member.name.is_empty()) {
        return false;
    }
    let left: Vec<&Member> = etcd.members.iter().filter(|member| member.id != id).collect();
    let unwell = left.iter().filter(|member| !is_well(etcd, member, machines)).count();
    left.len() - unwell > left.len() / 2
}

/// Healthy and all voting members, and how many of them a quorum needs.
pub fn quorum(etcd: &Etcd, machines: &[Machine]) -> (usize, usize, usize) {
    let voting: Vec<&Member> = etcd.members.iter().filter(|member| !member.is_learner).collect();
    let well = voting.iter().filter(|member| {
        let machine = machines.iter().find(|machine| node_name(machine) == Some(member.name.as_str()));
        machine.is_some_and(|machine| machine.condition_is_true(condition::ETCD_MEMBER))
    });
    (well.count(), voting.len(), voting.len() / 2 + 1)
}

/// The best member to lead other than `leaving`'s: of Machines with a node that are not being deleted, healthy and up-to-date ones
/// first, then the youngest.
pub fn next_leader<'a>(
    observed: &'a Observed,
    etcd: &'a Etcd,
    leaving: &ControlPlaneMachine,
) -> Option<&'a Member> {
    let mut candidates: Vec<&ControlPlaneMachine> = observed
        .machines
        .iter()
        .filter(|member| member.name() != leaving.name() && !member.is_deleting())
        .filter(|member| {
            member.node().and_then(|node| etcd.member(node)).is_some_and(|found| !found.is_learner)
        })
        .collect();
    candidates.sort_by_key(|member| {
        let good = |type_: &str| !member.machine.condition_is_true(type_);
        let created = member.machine.metadata.creation_timestamp.clone().map(|at| at.0);
        (
            good(condition::ETCD_MEMBER),
            member.machine.condition("HealthCheckSucceeded").is_some_and(|found| found.status == "False"),
            good(condition::UP_TO_DATE),
            std::cmp::Reverse(created),
        )
    });
    candidates.first().and_then(|member| member.node()).and_then(|node| etcd.member(node))
}
