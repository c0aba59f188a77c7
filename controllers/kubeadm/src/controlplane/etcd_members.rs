//! Compares etcd's members with the Machines: quorum, mismatches, candidates for the leadership. Pure
//! functions.

use chrono::{DateTime, Duration, Utc};
use engine::etcd::Member;
use schemas::HasConditions;
use schemas::cluster::Machine;

use super::machine_conditions::is_unreachable;
use super::observed::{ControlPlaneMachine, Observed, View, is_ready, node_name};
use super::remediation::candidates::is_unhealthy;
use crate::etcd::{self, Etcd};
use crate::names::condition;

/// The time for which a Node may lack an etcd member before this affects availability.
const NEW_NODE: Duration = Duration::minutes(2);

/// The mismatches between members and Machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Descriptions of the members without a Machine.
    pub errors: Vec<String>,
    /// Whether the mismatch makes the control plane unavailable.
    pub matters: bool,
}

/// Compares the members with the Machines.
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
        let name = text(member);
        mismatch.errors.push(format!("Etcd member {name} does not have a corresponding Machine"));
        mismatch.matters |= !provisioning;
    }
    mismatch
}

/// Returns the name of a member for a message.
pub fn text(member: &Member) -> String {
    if member.name.is_empty() {
        format!("{} (Name not yet assigned)", member.id)
    } else {
        member.name.clone()
    }
}

/// Returns whether a Machine has no Node yet; a member without a Machine may then belong to it.
pub fn is_provisioning(observed: &Observed) -> bool {
    observed.machines.iter().any(|member| member.node().is_none())
}

/// Returns the members that belong to no Machine's Node. Empty while the cluster has control plane Machines
/// of other owners.
pub fn unexpected<'a>(observed: &'a Observed, etcd: &'a Etcd) -> impl Iterator<Item = &'a Member> {
    etcd.members.iter().filter(|_| !observed.is_mixed()).filter(|member| {
        member.name.is_empty()
            || !observed.machines.iter().any(|machine| machine.node() == Some(member.name.as_str()))
    })
}

/// Returns whether a member counts for the quorum: it votes, answers and has no alarm, its Pod is ready and
/// its Node is reachable. The conditions of its Machine are not used: they are older, and say nothing about a
/// Machine in deletion.
fn is_well(view: &View, etcd: &Etcd, member: &Member) -> bool {
    !member.is_learner
        && !member.name.is_empty()
        && !etcd.silent.contains(&member.id)
        && etcd.alarms_of(member.id).next().is_none()
        && view.pods.get(&etcd::pod_name(&member.name)).is_some_and(|pod| is_ready(pod))
        && !is_cut_off(view, &member.name)
}

/// The etcd cluster after a change of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remaining {
    /// Number of healthy members.
    pub well: usize,
    /// Number of members.
    pub members: usize,
    /// Whether a member is a learner or has not started, so that the resulting quorum is unknown.
    pub is_changing: bool,
}

impl Remaining {
    /// Returns how many members a quorum needs.
    pub fn needed(self) -> usize {
        self.members / 2 + 1
    }

    /// Returns whether etcd keeps its quorum.
    pub fn is_quorum(self) -> bool {
        !self.is_changing && self.well >= self.needed()
    }
}

/// Computes the etcd cluster without the member `id`, or as it is.
pub fn without(view: &View, etcd: &Etcd, id: Option<u64>) -> Remaining {
    let left: Vec<&Member> = etcd.members.iter().filter(|member| Some(member.id) != id).collect();
    Remaining {
        well: left.iter().filter(|member| is_well(view, etcd, member)).count(),
        members: left.len(),
        is_changing: left.iter().any(|member| member.is_learner || member.name.is_empty()),
    }
}

/// Computes the etcd cluster with a new member, which counts as unhealthy. A single member could never get a second one then, so that one
/// counts as healthy.
pub fn with_new(view: &View, etcd: &Etcd) -> Remaining {
    let present = without(view, etcd, None);
    let new = usize::from(present.members <= 1);
    Remaining { well: present.well + new, members: present.members + 1, ..present }
}

/// Returns whether the kubelet of this Node has stopped reporting, so that no request reaches its Pods.
pub fn is_cut_off(view: &View, node: &str) -> bool {
    view.nodes.get(node).is_some_and(|node| is_unreachable(node))
}

/// Returns the number of healthy voting members, of all voting members, and of members needed for a quorum.
pub fn quorum(etcd: &Etcd, machines: &[Machine]) -> (usize, usize, usize) {
    let voting: Vec<&Member> = etcd.members.iter().filter(|member| !member.is_learner).collect();
    let well = voting.iter().filter(|member| {
        let machine = machines.iter().find(|machine| node_name(machine) == Some(member.name.as_str()));
        machine.is_some_and(|machine| machine.condition_is_true(condition::ETCD_MEMBER))
    });
    (well.count(), voting.len(), voting.len() / 2 + 1)
}

/// Returns the best next leader other than the member of `leaving`. Candidates are healthy members whose
/// Machines are not in deletion; healthy and up-to-date Machines come first, then the youngest.
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
            is_unhealthy(&member.machine),
            good(condition::UP_TO_DATE),
            std::cmp::Reverse(created),
        )
    });
    candidates.first().and_then(|member| member.node()).and_then(|node| etcd.member(node))
}
