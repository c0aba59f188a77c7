//! The rules of the MachinePool controller.

use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::{ExternalObject, Step, owners};
use schemas::cluster::{MachineInitializationStatus, MachinePool};

use super::facts::{deprecated, is_managed_elsewhere, provider_ids, was_provisioned};
use super::observed::Observed;
use super::{deletion, machines, nodes, status};
use crate::change::Reference;
use crate::machine::data_secret_name;

/// The finalizer of MachinePools.
pub const FINALIZER: &str = "machinepool.cluster.x-k8s.io";

/// What happens to a MachinePool, its Machines and their Nodes.
pub type Plan = engine::Plan<MachinePool>;

fn initialization(pool: &mut MachinePool) -> &mut MachineInitializationStatus {
    pool.status.get_or_insert_default().initialization.get_or_insert_default()
}

/// Applies all rules of a MachinePool. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan::of(observed.pool.as_ref().clone());
    engine::paused::set(&mut plan.wanted, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan.wanted, observed);
    bootstrap(&mut plan, observed);
    infrastructure(&mut plan, observed);
    plan.errors.extend(observed.parts_error.clone());
    plan.steps.extend(machines::marks(observed));
    plan.steps.extend(machines::applies(observed));
    let is_deleted = if is_deleting(observed.pool.as_ref()) {
        deletion::plan(&mut plan, observed)
    } else {
        nodes::plan(&mut plan, observed);
        false
    };
    status::set(&mut plan, observed);
    if is_deleted {
        engine::finalizer::remove(&mut plan.wanted, FINALIZER);
    }
    plan
}

fn owner_and_labels(pool: &mut MachinePool, observed: &Observed) {
    owners::ensure(pool, owners::reference(observed.cluster.as_ref(), &()));
    let name = observed.pool.spec.cluster_name.clone();
    pool.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
}

/// Makes the MachinePool the controller of its bootstrap or infrastructure object.
fn controlled_by_pool(pool: &MachinePool, object: &ExternalObject) -> Option<Step> {
    let mut wanted = object.object.as_ref().clone();
    owners::ensure(&mut wanted, owners::controller_reference(pool, &()));
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAME.to_owned(), pool.spec.cluster_name.clone());
    (wanted.metadata != object.object.metadata).then(|| Step::patch(object, wanted))
}

/// Copies the name of the Secret with the bootstrap data. Another configRef leads to another Secret.
fn bootstrap(plan: &mut Plan, observed: &Observed) {
    let object = match &observed.bootstrap {
        Reference::None => {
            if plan.wanted.spec.template.spec.bootstrap.data_secret_name.is_some() {
                initialization(&mut plan.wanted).bootstrap_data_secret_created = Some(true);
            }
            return;
        }
        // The object's creation event triggers the next reconcile.
        Reference::NotFound => return,
        Reference::Failed(error) => return plan.errors.push(error.clone()),
        Reference::Found(object) => object,
    };
    if is_deleting(object.object.as_ref()) {
        return;
    }
    plan.steps.extend(controlled_by_pool(&observed.pool, object));
    match data_secret_name(object) {
        Ok(None) => {}
        Ok(name) => {
            plan.wanted.spec.template.spec.bootstrap.data_secret_name = name;
            initialization(&mut plan.wanted).bootstrap_data_secret_created = Some(true);
        }
        Err(error) => plan.errors.push(error),
    }
}

/// Copies provider IDs and replicas of the provisioned infrastructure.
fn infrastructure(plan: &mut Plan, observed: &Observed) {
    let object = match &observed.infrastructure {
        Reference::NotFound if was_provisioned(&plan.wanted) && !is_deleting(observed.pool.as_ref()) => {
            return deleted_too_early(plan, observed);
        }
        Reference::None | Reference::NotFound => return,
        Reference::Failed(error) => return plan.errors.push(error.clone()),
        Reference::Found(object) => object,
    };
    if is_deleting(object.object.as_ref()) {
        return;
    }
    plan.steps.extend(controlled_by_pool(&observed.pool, object));
    // The contract's name of the field, and the one that providers use.
    let is_ready = object.is_true("/status/initialization/provisioned") || object.is_true("/status/ready");
    if !is_ready && !was_provisioned(&plan.wanted) {
        return;
    }
    initialization(&mut plan.wanted).infrastructure_provisioned = Some(true);
    let replicas = object.number("/status/replicas").filter(|replicas| *replicas >= 0);
    let status = plan.wanted.status.get_or_insert_default();
    status.replicas = replicas.or(status.replicas);
    if is_managed_elsewhere(&plan.wanted) && replicas.is_some() {
        plan.wanted.spec.replicas = replicas;
    }
    let ids = provider_ids(object);
    // A provider that has machines and names none has not got that far: its next change is an event.
    if !ids.is_empty() || replicas.unwrap_or(0) == 0 {
        plan.wanted.spec.provider_id_list = ids;
    }
}

fn deleted_too_early(plan: &mut Plan, observed: &Observed) {
    let reference = &observed.pool.spec.template.spec.infrastructure_ref;
    let message =
        format!("{} {} has been deleted while the MachinePool still exists", reference.kind, reference.name);
    let deprecated = deprecated(&mut plan.wanted);
    deprecated.failure_reason = Some("InvalidConfiguration".to_owned());
    deprecated.failure_message = Some(message.clone());
    plan.errors.push(message);
}
