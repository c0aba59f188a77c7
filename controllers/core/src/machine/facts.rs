//! Facts that follow from a Machine, or from its infrastructure object, alone.

use engine::ExternalObject;
use schemas::cluster::Machine;

use crate::contract::DATA_SECRET_NAME;

/// Returns whether an infrastructure object reports that its machine is provisioned.
pub(super) fn is_infrastructure_provisioned(object: &ExternalObject) -> bool {
    object.is_true(if object.contract == "v1beta1" {
        "/status/ready"
    } else {
        "/status/initialization/provisioned"
    })
}

/// Returns whether a bootstrap object reports that its data Secret is created.
pub(super) fn is_data_secret_created(object: &ExternalObject) -> bool {
    object.is_true(if object.contract == "v1beta1" {
        "/status/ready"
    } else {
        "/status/initialization/dataSecretCreated"
    })
}

/// Returns the name of the data Secret that a bootstrap object reports, or `None` if it is not created yet.
///
/// # Errors
/// The object says that the Secret is created, and does not name it.
pub(crate) fn data_secret_name(object: &ExternalObject) -> Result<Option<String>, String> {
    if !is_data_secret_created(object) {
        return Ok(None);
    }
    let name = DATA_SECRET_NAME.read_text(object).ok_or_else(|| {
        format!(
            "{} {} reports its data Secret as created, but names none in status.dataSecretName",
            object.resource.kind,
            object.object.metadata.name.as_deref().unwrap_or_default()
        )
    });
    name.map(|name| Some(name.to_owned()))
}

/// Returns whether the Machine's infrastructure was provisioned at any time.
pub(super) fn was_provisioned(machine: &Machine) -> bool {
    let initialization = machine.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

/// Returns whether the Machine's bootstrap data was created at any time.
pub(super) fn was_bootstrapped(machine: &Machine) -> bool {
    let initialization = machine.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.bootstrap_data_secret_created == Some(true))
}

/// Returns the name of the Machine's Node; `None` until the Machine has one.
pub(crate) fn node_name(machine: &Machine) -> Option<&str> {
    machine.status.as_ref()?.node_ref.as_ref().map(|node| node.name.as_str())
}
