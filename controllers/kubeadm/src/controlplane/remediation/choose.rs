//! Which unhealthy Machine is remediated first. Pure functions.

use engine::object;
use schemas::HasConditions;
use schemas::cluster::Machine;

use crate::controlplane::observed::ControlPlaneMachine;
use crate::controlplane::remediation::candidates::is_candidate;
use crate::names::condition;

/// Returns the candidate that is broken most, for which the chance is best that its replacement can join. `machines` are the Machines of
/// `members` with their new conditions.
pub(super) fn most_broken<'a>(
    members: &'a [ControlPlaneMachine],
    machines: &[Machine],
    etcd_managed: bool,
) -> Option<&'a ControlPlaneMachine> {
    let mut types = Vec::new();
    if etcd_managed {
        types.extend([condition::ETCD_MEMBER, condition::ETCD_POD]);
    }
    types.extend([
        condition::API_SERVER_POD,
        condition::CONTROLLER_MANAGER_POD,
        condition::SCHEDULER_POD,
        condition::NODE_LABELS_AND_TAINTS_SET,
    ]);
    let candidates = members.iter().zip(machines).filter(|(_, machine)| is_candidate(machine));
    let key = |(member, machine): &(&ControlPlaneMachine, &Machine)| {
        let is_wanted = object::annotation(*machine, engine::names::REMEDIATE_MACHINE).is_some();
        let is_good: Vec<bool> = types.iter().map(|type_| machine.condition_is_true(type_)).collect();
        let created = machine.metadata.creation_timestamp.clone().map(|at| at.0);
        (!is_wanted, member.node().is_some(), is_good, created, member.name().to_owned())
    };
    candidates.min_by_key(key).map(|(member, _)| member)
}
