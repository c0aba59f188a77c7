//! Facts that follow from a MachinePool, or from its infrastructure object, alone.

use engine::ExternalObject;
use engine::names::REPLICAS_MANAGED_BY;
use engine::object::annotation;
use schemas::cluster::{MachinePool, MachinePoolV1Beta1DeprecatedStatus};

/// The longest provider ID, in characters.
const MAX_PROVIDER_ID: usize = 512;

/// Returns whether the infrastructure was provisioned at any time.
pub(super) fn was_provisioned(pool: &MachinePool) -> bool {
    let initialization = pool.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

/// Returns `spec.providerIDList` of an infrastructure object, without items that break the contract.
pub(super) fn provider_ids(object: &ExternalObject) -> Vec<String> {
    let list = object.get("/spec/providerIDList").and_then(|list| list.as_array());
    let ids = list.into_iter().flatten().filter_map(|id| id.as_str());
    ids.filter(|id| (1..=MAX_PROVIDER_ID).contains(&id.chars().count())).map(str::to_owned).collect()
}

/// Returns the deprecated part of the status.
pub(super) fn deprecated(pool: &mut MachinePool) -> &mut MachinePoolV1Beta1DeprecatedStatus {
    let status = pool.status.get_or_insert_default();
    status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default()
}

/// Returns whether an autoscaler or somebody else decides on the number of replicas.
pub(super) fn is_managed_elsewhere(pool: &MachinePool) -> bool {
    annotation(pool, REPLICAS_MANAGED_BY).is_some_and(|value| value != "false")
}
