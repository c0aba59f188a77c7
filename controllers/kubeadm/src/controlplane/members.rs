//! etcd's members against Machines: quorum, what does not match, who may lead. Pure.

use chrono::{DateTime, Duration, Utc};
use engine::etcd::Member;
use schemas::HasConditions;
use schemas::cluster::Machine;

use super::machine_conditions::is_unreachable;
use super::observed::{ControlPlaneMachine, Observed, View, is_ready, node_name};
use crate::etcd::{self, Etcd};
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

/// Members that belong to no Machine's node. None while the Machines that we know are not all there are.
pub fn unexpected<'a>(observed: &'a Observed, etcd: &'a Etcd) -> impl Iterator<Item = &'a Member> {
    etcd.members.iter().filter(|_| !observed.is_mixed()).filter(|member| {
        member.name.is_empty()
            || !observed.machines.iter().any(|machine| machine.node() == Some(member.name.as_str()))
    })
}

/// Whether a member counts for the quorum: it votes, answers, has no alarm, and its pod and node say the same. What its Machine's
/// conditions say is older, and says nothing of a Machine that is being deleted.
fn is_well(view: &View, etcd: &Etcd, member: &Member) -> bool {
    !member.is_learner
        && !member.name.is_empty()
        && !etcd.silent.contains(&member.id)
        && etcd.alarms_of(member.id).next().is_none()
        && view.pods.get(&etcd::pod_name(&member.name)).is_some_and(|pod| is_ready(pod))
        && view.nodes.get(&member.name).is_none_or(|node| !is_unreachable(node))
}

/// What etcd would be without a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remaining {
    /// Members that are left and well.
    pub well: usize,
    /// Members that are left.
    pub members: usize,
    /// One of them only learns, or has not started: nobody can say what it will be.
    pub is_changing: bool,
}

impl Remaining {
    /// How many members a quorum needs.
    pub fn needed(self) -> usize {
        self.members / 2 + 1
    }

    /// Whether etcd keeps its quorum.
    pub fn is_quorum(self) -> bool {
        !self.is_changing && self.well >= self.needed()
    }
}

/// etcd without the member `id`.
pub fn without(view: &View, etcd: &Etcd, id: u64) -> Remaining {
    let left: Vec<&Member> = etcd.members.iter().filter(|member| member.id != id).collect();
    Remaining {
        well: left.iter().filter(|member| is_well(view, etcd, member)).count(),
        members: left.len(),
        is_changing: left.iter().any(|member| member.is_learner || member.name.is_empty()),
    }
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

/// The best member to lead other than `leaving`'s: of those that are well and whose Machines are not being deleted, healthy and
/// up-to-date ones first, then the youngest.
pub fn next_leader<'a>(
    observed: &'a Observed,
    etcd: &'a Etcd,
    leaving: &ControlPlaneMachine,
) -> Option<&'a Member> {
    let view = observed.workload.as_ref()?;
    let mut candidates: Vec<&ControlPlaneMachine> = observed
        .machines
        .iter()
        .filter(|member| member.name() != leaving.name() && !member.is_deleting())
        .filter(|member| {
            member.node().and_then(|node| etcd.member(node)).is_some_and(|found| is_well(view, etcd, found))
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
