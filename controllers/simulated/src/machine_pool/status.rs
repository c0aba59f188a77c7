//! Status and provider IDs of a DevMachinePool.

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false, is_true};
use engine::object::is_deleting;
use schemas::infrastructure::{DevMachine, DevMachinePool, DevMachinePoolInstance};

use super::observe::{Member, Observed};

/// Returns the number of machines that the MachinePool wants.
pub(super) fn wanted(observed: &Observed) -> usize {
    usize::try_from(observed.pool.spec.replicas.unwrap_or(1)).unwrap_or(0)
}

/// Sets provider IDs, status and conditions. A machine that is being deleted counts until it is gone, because its Node is still drained.
pub(super) fn set(dev: &mut DevMachinePool, observed: &Observed, now: DateTime<Utc>) {
    let mut members: Vec<&Member> = observed.members.iter().collect();
    members.sort_by_key(|member| member.dev.metadata.name.clone());
    let ids: Vec<String> = members.iter().filter_map(|member| member.dev.spec.provider_id.clone()).collect();
    let (ready, wanted) = (ids.len(), wanted(observed));
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let name = (text(&dev.metadata.namespace), text(&dev.metadata.name));
    dev.spec.provider_id = Some(format!("in-memory:///{}/{}", name.0, name.1));
    dev.spec.provider_id_list = ids;
    let generation = dev.metadata.generation;
    let status = dev.status.get_or_insert_default();
    status.observed_generation = generation;
    status.infrastructure_machine_kind = Some(DevMachine::KIND.to_owned());
    status.replicas = Some(i32::try_from(members.len()).unwrap_or(i32::MAX));
    status.instances = members.iter().map(|member| instance(member)).collect();
    // As the provisioning of other infrastructure, this does not go back.
    if ready >= wanted {
        status.ready = Some(true);
    }
    let condition = if is_deleting(dev) {
        is_false("ReplicasReady", "NotReady", format!("{} machines are being deleted", members.len()))
    } else if ready == wanted {
        is_true("ReplicasReady", "Ready")
    } else {
        is_false("ReplicasReady", "NotReady", format!("{ready} of {wanted} machines are provisioned"))
    };
    let summary = schemas::meta::Condition { type_: "Ready".to_owned(), ..condition.clone() };
    conditions::set(dev, now, condition);
    conditions::set(dev, now, summary);
}

fn instance(member: &Member) -> DevMachinePoolInstance {
    DevMachinePoolInstance {
        instance_name: member.dev.metadata.name.clone(),
        provider_id: member.dev.spec.provider_id.clone(),
        version: member.version().map(str::to_owned),
        ready: Some(member.dev.spec.provider_id.is_some()),
        addresses: Vec::new(),
    }
}
