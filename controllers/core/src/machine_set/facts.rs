//! Facts that follow from a MachineSet alone.

use engine::names::SET_NAME;
use engine::owners;
use schemas::cluster::{MachineDeployment, MachineSet};

/// Returns the label that names the MachineSet on its Machines.
pub(super) fn set_name_label(set: &MachineSet) -> (String, String) {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    (SET_NAME.to_owned(), schemas::naming::label_value(name))
}

/// Returns whether a MachineDeployment controls the MachineSet.
pub(super) fn is_of_deployment(set: &MachineSet) -> bool {
    owners::controller(set).is_some_and(|owner| owner.kind == MachineDeployment::KIND)
}
