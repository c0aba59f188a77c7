//! The rules of the MachinePool controller.

use std::sync::Arc;

use engine::names::CLUSTER_NAME;
use engine::object::is_deleting;
use engine::{Action, ExternalObject, owners};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Machine, MachineInitializationStatus, MachinePool};

use super::facts::{deprecated, is_managed_elsewhere, provider_ids, was_provisioned};
use super::observe::Observed;
use super::{deletion, machines, nodes, status};
use crate::change::{ExternalChange, Reference};
use crate::machine::data_secret_name;

/// The finalizer of MachinePools.
pub const FINALIZER: &str = "machinepool.cluster.x-k8s.io";

/// The changes that a MachinePool needs.
#[derive(Debug, Default)]
pub struct Plan {
    /// The MachinePool with its wanted metadata, spec and status.
    pub pool: MachinePool,
    /// Changes of the bootstrap and infrastructure objects.
    pub external: Vec<ExternalChange>,
    /// Machines to write, each with its present state if it exists.
    pub machines: Vec<(Option<Arc<Machine>>, Machine)>,
    /// Machines whose condition `UpToDate` changes.
    pub marks: Vec<(Arc<Machine>, Machine)>,
    /// Changes of Nodes.
    pub nodes: Vec<(Arc<Node>, Node)>,
    /// Nodes to delete, because their machines are gone.
    pub delete_nodes: Vec<Arc<Node>>,
    /// The infrastructure or bootstrap objects to delete.
    pub delete: Vec<ExternalObject>,
    /// When to reconcile again.
    pub action: Action,
    /// Errors that the reconcile returns.
    pub errors: Vec<String>,
}

impl Plan {
    fn initialization(&mut self) -> &mut MachineInitializationStatus {
        self.pool.status.get_or_insert_default().initialization.get_or_insert_default()
    }
}

/// Applies all rules of a MachinePool. Pure function.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { pool: observed.pool.as_ref().clone(), ..Plan::default() };
    engine::paused::set(&mut plan.pool, Some(&observed.cluster), observed.now);
    owner_and_labels(&mut plan, observed);
    bootstrap(&mut plan, observed);
    infrastructure(&mut plan, observed);
    plan.errors.extend(observed.parts_error.clone());
    plan.marks = machines::marks(observed);
    plan.machines = machines::wanted(observed);
    let is_deleted = is_deleting(observed.pool.as_ref()) && deletion::plan(&mut plan, observed);
    nodes::plan(&mut plan, observed);
    status::set(&mut plan, observed);
    if is_deleted {
        engine::finalizer::remove(&mut plan.pool, FINALIZER);
    }
    plan
}

fn owner_and_labels(plan: &mut Plan, observed: &Observed) {
    owners::ensure(&mut plan.pool, owners::reference(observed.cluster.as_ref(), &()));
    let name = observed.pool.spec.cluster_name.clone();
    plan.pool.metadata.labels.get_or_insert_default().insert(CLUSTER_NAME.to_owned(), name);
}

/// Makes the MachinePool the controller of its bootstrap or infrastructure object.
fn controlled_by_pool(pool: &MachinePool, object: &ExternalObject) -> Option<ExternalChange> {
    let mut wanted = object.object.as_ref().clone();
    owners::ensure(&mut wanted, owners::controller_reference(pool, &()));
    let labels = wanted.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAME.to_owned(), pool.spec.cluster_name.clone());
    (wanted.metadata != object.object.metadata).then(|| ExternalChange { read: object.clone(), wanted })
}

/// Copies the name of the Secret with the bootstrap data. Another configRef leads to another Secret.
fn bootstrap(plan: &mut Plan, observed: &Observed) {
    let object = match &observed.bootstrap {
        Reference::None => {
            if plan.pool.spec.template.spec.bootstrap.data_secret_name.is_some() {
                plan.initialization().bootstrap_data_secret_created = Some(true);
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
    plan.external.extend(controlled_by_pool(&observed.pool, object));
    match data_secret_name(object) {
        Ok(None) => {}
        Ok(name) => {
            plan.pool.spec.template.spec.bootstrap.data_secret_name = name;
            plan.initialization().bootstrap_data_secret_created = Some(true);
        }
        Err(error) => plan.errors.push(error),
    }
}

/// Copies provider IDs and replicas of the provisioned infrastructure.
fn infrastructure(plan: &mut Plan, observed: &Observed) {
    let object = match &observed.infrastructure {
        Reference::NotFound if was_provisioned(&plan.pool) && !is_deleting(observed.pool.as_ref()) => {
            return deleted_too_early(plan, observed);
        }
        Reference::None | Reference::NotFound => return,
        Reference::Failed(error) => return plan.errors.push(error.clone()),
        Reference::Found(object) => object,
    };
    if is_deleting(object.object.as_ref()) {
        return;
    }
    plan.external.extend(controlled_by_pool(&observed.pool, object));
    // The contract's name of the field, and the one that providers use.
    let is_ready = object.is_true("/status/initialization/provisioned") || object.is_true("/status/ready");
    if !is_ready && !was_provisioned(&plan.pool) {
        return;
    }
    plan.initialization().infrastructure_provisioned = Some(true);
    let replicas = object.number("/status/replicas").filter(|replicas| *replicas >= 0);
    let status = plan.pool.status.get_or_insert_default();
    status.replicas = replicas.or(status.replicas);
    if is_managed_elsewhere(&plan.pool) && replicas.is_some() {
        plan.pool.spec.replicas = replicas;
    }
    let ids = provider_ids(object);
    // A provider that has machines and names none has not got that far: its next change is an event.
    if !ids.is_empty() || replicas.unwrap_or(0) == 0 {
        plan.pool.spec.provider_id_list = ids;
    }
}

fn deleted_too_early(plan: &mut Plan, observed: &Observed) {
    let reference = &observed.pool.spec.template.spec.infrastructure_ref;
    let message =
        format!("{} {} has been deleted while the MachinePool still exists", reference.kind, reference.name);
    let deprecated = deprecated(&mut plan.pool);
    deprecated.failure_reason = Some("InvalidConfiguration".to_owned());
    deprecated.failure_message = Some(message.clone());
    plan.errors.push(message);
}
