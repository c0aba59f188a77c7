//! Status and provider IDs of a DevMachinePool. Pure.

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false, is_true};
use engine::object::is_deleting;
use schemas::infrastructure::{DevMachine, DevMachinePool, DevMachinePoolInstance};
use schemas::meta::Condition;

use crate::observed::{Member, Observed};

/// Whether as many machines are up as the MachinePool wants.
const REPLICAS: &str = "ReplicasReady";

/// Sets provider IDs, status and conditions. A machine that is being deleted counts until it is gone, because its Node is still drained.
pub(crate) fn set(dev: &mut DevMachinePool, observed: &Observed, now: DateTime<Utc>) {
    let mut members: Vec<&Member> = observed.members.iter().collect();
    members.sort_by_key(|member| member.dev.metadata.name.clone());
    let mut ids: Vec<String> =
        members.iter().filter_map(|member| member.dev.spec.provider_id.clone()).collect();
    ids.sort();
    let generation = dev.metadata.generation;
    dev.spec.provider_id = Some(observed.provider_id.clone());
    let status = dev.status.get_or_insert_default();
    status.observed_generation = generation;
    status.infrastructure_machine_kind = Some(DevMachine::KIND.to_owned());
    status.replicas = Some(i32::try_from(replicas(observed)).unwrap_or(i32::MAX));
    status.instances = members.iter().map(|member| instance(member)).collect();
    // It is said when it changes for the first time: nobody reads `false` in place of nothing.
    if ids.len() >= observed.wanted() || status.ready.is_some() {
        status.ready = Some(ids.len() >= observed.wanted());
    }
    dev.spec.provider_id_list = ids;
    let condition = condition(observed, is_deleting(dev));
    let summary = Condition { type_: "Ready".to_owned(), ..condition.clone() };
    conditions::set(dev, now, condition);
    conditions::set(dev, now, summary);
}

/// Returns the number of machines. The one that is there before another is replaced does not count: a MachinePool whose replicas others
/// decide on would take it over, and get one more with each replacement.
fn replicas(observed: &Observed) -> usize {
    let members = observed.members.len();
    if observed.is_replacing() { members.min(observed.wanted()) } else { members }
}

fn condition(observed: &Observed, is_deleting: bool) -> Condition {
    let members = &observed.members;
    let (wanted, up) = (observed.wanted(), members.iter().filter(|member| member.is_up()).count());
    let outdated = members.iter().filter(|member| member.is_outdated).count();
    let message = match &observed.new {
        _ if is_deleting => format!("{} machines are being deleted", members.len()),
        Err(error) => error.clone(),
        Ok(_) if up < wanted => format!("{up} of {wanted} machines are ready"),
        Ok(_) if outdated > 0 => format!("{outdated} of {} machines are replaced", members.len()),
        Ok(_) if members.len() > wanted => {
            format!("{} of {} machines are removed", members.len() - wanted, members.len())
        }
        Ok(_) => return is_true(REPLICAS, "Ready"),
    };
    is_false(REPLICAS, "NotReady", message)
}

fn instance(member: &Member) -> DevMachinePoolInstance {
    let status = member.dev.status.as_ref();
    DevMachinePoolInstance {
        instance_name: member.dev.metadata.name.clone(),
        provider_id: member.dev.spec.provider_id.clone(),
        // It is that of the Node, once there is one.
        version: member.machine.as_ref().and_then(|machine| machine.spec.version.clone()),
        ready: Some(member.is_up()),
        addresses: status.map(|status| status.addresses.clone()).unwrap_or_default(),
    }
}
