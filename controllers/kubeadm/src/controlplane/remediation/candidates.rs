//! Which Machines of a control plane are unhealthy. Pure functions.

use engine::conditions::{self, FALSE};
use engine::object;
use schemas::HasConditions;
use schemas::cluster::Machine;

use crate::controlplane::observed::Observed;
use crate::names::condition;

/// Returns whether a health check of the Machine failed.
pub(crate) fn is_unhealthy(machine: &Machine) -> bool {
    conditions::has(machine.conditions(), condition::HEALTH_CHECK_SUCCEEDED, FALSE)
}

/// Returns whether the control plane is asked to remediate the Machine.
pub(crate) fn is_candidate(machine: &Machine) -> bool {
    is_unhealthy(machine)
        && conditions::has(machine.conditions(), condition::OWNER_REMEDIATED, FALSE)
        && !object::is_deleting(machine)
}

/// Returns whether the only Machine is being replaced. If its `kubeadm init` finishes now, the control plane is not initialised by that: the
/// next Machine could join nobody.
pub fn replaces_all(observed: &Observed) -> bool {
    match observed.machines.as_slice() {
        [only] => only.is_deleting() || is_candidate(&only.machine),
        _ => false,
    }
}
