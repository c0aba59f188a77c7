//! Facts that follow from a MachineSet alone.

use engine::in_place::MOVE_MACHINES_TO;
use engine::names::SET_NAME;
use engine::object::annotation;
use engine::owners;
use schemas::cluster::{MachineDeployment, MachineSet};

/// Returns the label that names the MachineSet on its Machines.
pub(super) fn set_name_label(set: &MachineSet) -> (String, String) {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    (SET_NAME.to_owned(), schemas::naming::label_value(name))
}

/// Returns the name of the MachineDeployment that controls the MachineSet.
pub(super) fn deployment_name(set: &MachineSet) -> Option<&str> {
    let owner = owners::controller(set).filter(|owner| owner.kind == MachineDeployment::KIND);
    owner.map(|owner| owner.name.as_str())
}

/// Returns whether a MachineDeployment controls the MachineSet.
pub(super) fn is_of_deployment(set: &MachineSet) -> bool {
    deployment_name(set).is_some()
}

/// Returns the name of the MachineSet that gets the Machines of this one.
pub(super) fn target_name(set: &MachineSet) -> Option<&str> {
    annotation(set, MOVE_MACHINES_TO).filter(|name| !name.is_empty())
}
