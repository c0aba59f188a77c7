//! The rules of the Machine controller.

use engine::names::{CLUSTER_NAME, CONTROL_PLANE, CONTROL_PLANE_NAME, POOL_NAME, SET_NAME};
use engine::object::{annotation, is_deleting, label};
use engine::{ExternalObject, owners};
use machinery::clock::rfc3339;
use schemas::cluster::Machine;

use super::changes::{Plan, Step};
use super::facts::{data_secret_name, is_infrastructure_provisioned, was_bootstrapped, was_provisioned};
use super::observed::Observed;
use super::provider_id::other_provider_id;
use super::{deletion, node, status, update, v1beta1};
use crate::change::{ExternalChange, Reference};
use crate::contract;

const CERTIFICATES_EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";

/// The finalizer of Machines.
pub const FINALIZER: &str = "machine.cluster.x-k8s.io";

/// Applies all rules of a Machine. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { machine: observed.machine.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.machine, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan, observed);
    bootstrap(&mut plan, observed);
    infrastructure(&mut plan, observed);
    node::plan(&mut plan, observed);
    certificates_expiry(&mut plan, observed);
    update::plan(&mut plan, observed);
    let step = if is_deleting(observed.machine.as_ref()) {
        deletion::plan(&mut plan, observed)
    } else {
        Step::NotDeleting
    };
    let generation = plan.machine.metadata.generation;
    plan.machine.status.get_or_insert_default().observed_generation = generation;
    status::set(&mut plan, observed, &step);
    v1beta1::set(&mut plan, observed, &step);
    phase(&mut plan, observed);
    if matches!(step, Step::Completed) {
        engine::finalizer::remove(&mut plan.machine, FINALIZER);
    }
    plan
}

/// Makes the Cluster the owner of a Machine that has no controller and comes from no MachineSet, MachinePool
/// or control plane.
fn owner_and_labels(plan: &mut Plan, observed: &Observed) {
    let name = observed.machine.spec.cluster_name.clone();
    plan.machine.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
    let machine = observed.machine.as_ref();
    let has_owner = owners::controller(machine).is_some()
        || owners::find(machine, schemas::cluster::Cluster::GROUP, "Cluster").is_some();
    let is_owned_kind =
        [SET_NAME, POOL_NAME, CONTROL_PLANE_NAME].iter().any(|key| label(machine, key).is_some());
    if !has_owner && !is_owned_kind {
        owners::ensure(&mut plan.machine, owners::reference(observed.cluster.as_ref(), &()));
    }
}

/// Makes the Machine the controller of its bootstrap or infrastructure object, in place of the Machine's own
/// controller, which created the object.
fn controlled_by_machine(machine: &Machine, object: &ExternalObject) -> Option<ExternalChange> {
    let mut wanted = object.object.as_ref().clone();
    if let Some(creator) = owners::controller(machine) {
        owners::remove(&mut wanted, creator);
    }
    owners::ensure(&mut wanted, owners::controller_reference(machine, &()));
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAME.to_owned(), machine.spec.cluster_name.clone());
    (wanted.metadata != object.object.metadata).then(|| ExternalChange { read: object.clone(), wanted })
}

fn bootstrap(plan: &mut Plan, observed: &Observed) {
    match &observed.bootstrap {
        Reference::None if plan.machine.spec.bootstrap.data_secret_name.is_some() => {
            plan.initialization().bootstrap_data_secret_created = Some(true);
        }
        // The object's creation event triggers the next reconcile.
        Reference::None | Reference::NotFound => {}
        Reference::Failed(error) => plan.errors.push(error.clone()),
        Reference::Found(object) => {
            plan.external.extend(controlled_by_machine(&observed.machine, object));
            if plan.machine.spec.bootstrap.data_secret_name.is_some() {
                plan.initialization().bootstrap_data_secret_created = Some(true);
                return;
            }
            match data_secret_name(object) {
                Ok(None) => {}
                Ok(name) => {
                    plan.machine.spec.bootstrap.data_secret_name = name;
                    plan.initialization().bootstrap_data_secret_created = Some(true);
                }
                Err(error) => plan.errors.push(error),
            }
        }
    }
}

fn infrastructure(plan: &mut Plan, observed: &Observed) {
    let provisioned = was_provisioned(&plan.machine);
    let object = match &observed.infrastructure {
        Reference::NotFound if provisioned && !is_deleting(observed.machine.as_ref()) => {
            let reference = &observed.machine.spec.infrastructure_ref;
            let what = format!("{} {}", reference.kind, reference.name);
            return plan.errors.push(format!("{what} has been deleted while the Machine still exists"));
        }
        Reference::None | Reference::NotFound => return,
        Reference::Failed(error) => return plan.errors.push(error.clone()),
        Reference::Found(object) => object,
    };
    plan.external.extend(controlled_by_machine(&observed.machine, object));
    if !provisioned && !is_infrastructure_provisioned(object) {
        return;
    }
    let domain = contract::WANTED_FAILURE_DOMAIN.read_text(object);
    if let Some(domain) = domain.filter(|_| object.contract == "v1beta1") {
        plan.machine.spec.failure_domain = Some(domain.to_owned());
    }
    // The event of the provider setting the ID triggers the next reconcile.
    let Some(id) = contract::PROVIDER_ID.read_text(object) else { return };
    if other_provider_id(observed, object).is_none() {
        plan.machine.spec.provider_id = Some(id.to_owned());
    }
    let status = plan.machine.status.get_or_insert_default();
    if let Some(addresses) = contract::addresses(object) {
        status.addresses = addresses;
    }
    if let Some(domain) = contract::FAILURE_DOMAIN.read_text(object) {
        status.failure_domain = Some(domain.to_owned());
    }
    plan.initialization().infrastructure_provisioned = Some(true);
}

/// Only control plane Machines have certificates of their own. The Machine's annotation takes precedence over
/// its bootstrap object's.
fn certificates_expiry(plan: &mut Plan, observed: &Observed) {
    let machine = observed.machine.as_ref();
    if label(machine, CONTROL_PLANE).is_none() {
        return;
    }
    let of_config =
        observed.bootstrap.found().and_then(|object| annotation(object.object.as_ref(), CERTIFICATES_EXPIRY));
    let expiry = annotation(machine, CERTIFICATES_EXPIRY).or(of_config);
    let expiry = expiry.filter(|text| machinery::clock::parse_rfc3339(text).is_some()).map(str::to_owned);
    plan.machine.status.get_or_insert_default().certificates_expiry_date = expiry;
}

fn phase(plan: &mut Plan, observed: &Observed) {
    let machine = &plan.machine;
    let provisioned = was_provisioned(machine);
    let has_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    let phase = if is_deleting(machine) {
        "Deleting"
    } else if has_node && provisioned {
        "Running"
    } else if machine.spec.provider_id.is_some() {
        "Provisioned"
    } else if was_bootstrapped(machine) && !provisioned {
        "Provisioning"
    } else {
        "Pending"
    };
    let status = plan.machine.status.get_or_insert_default();
    if status.phase.as_deref() != Some(phase) {
        status.phase = Some(phase.to_owned());
        status.last_updated = Some(rfc3339(observed.now));
    }
}
