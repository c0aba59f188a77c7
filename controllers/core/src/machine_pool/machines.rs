//! The Machines of a MachinePool whose infrastructure has an object for each machine.

use std::sync::Arc;

use engine::conditions;
use engine::names::{CLUSTER_NAME, POOL_NAME};
use engine::object::is_deleting;
use engine::{ExternalObject, Step, owners};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::cluster::{Bootstrap, Machine, MachinePool, MachineSpec};
use schemas::meta::ContractVersionedObjectReference;
use schemas::naming;

use super::observed::Observed;

/// The condition of its Machines that the MachinePool sets.
pub(super) const UP_TO_DATE: &str = "UpToDate";

/// The field manager of the Machines.
const FIELD_MANAGER: &str = "machinepool-controller";

/// Returns the changes of the condition `UpToDate`.
pub(super) fn marks(observed: &Observed) -> Vec<Step> {
    observed.machines.iter().filter_map(|machine| mark(observed, machine)).collect()
}

/// Returns the step that makes or changes the Machine of each infrastructure object.
pub(super) fn applies(observed: &Observed) -> Vec<Step> {
    if is_deleting(observed.pool.as_ref()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    for part in &observed.parts {
        let name = part.object.metadata.name.as_deref();
        let current = observed.machines.iter().find(|machine| machine.metadata.name.as_deref() == name);
        // An object in deletion gets no Machine again, and a Machine in deletion keeps its state.
        let goes = current.map_or_else(|| is_deleting(part.object.as_ref()), |it| is_deleting(it.as_ref()));
        if goes {
            continue;
        }
        let wanted = machine(observed, part, current);
        steps.push(match current {
            Some(current) => Step::apply(FIELD_MANAGER, current, wanted),
            None => Step::apply_new(FIELD_MANAGER, wanted),
        });
    }
    steps
}

/// Returns the Machine of an infrastructure object, which has the object's name.
fn machine(observed: &Observed, part: &ExternalObject, current: Option<&Arc<Machine>>) -> Machine {
    let pool = observed.pool.as_ref();
    let template = pool.spec.template.metadata.clone().unwrap_or_default();
    let name = part.object.metadata.name.clone().unwrap_or_default();
    let known = current.and_then(|machine| machine.spec.version.clone());
    Machine {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: pool.metadata.namespace.clone(),
            // With the UID, the apply fails instead of recreating a Machine that was deleted in the meantime.
            uid: current.and_then(|machine| machine.metadata.uid.clone()),
            labels: Some(labels(pool)),
            annotations: Some(template.annotations).filter(|annotations| !annotations.is_empty()),
            owner_references: Some(vec![owners::controller_reference(pool, &())]),
            ..ObjectMeta::default()
        },
        spec: MachineSpec {
            cluster_name: pool.spec.cluster_name.clone(),
            // The bootstrap data belong to the MachinePool.
            bootstrap: Bootstrap { data_secret_name: Some(String::new()), config_ref: None },
            infrastructure_ref: ContractVersionedObjectReference {
                api_group: part.resource.group.clone(),
                kind: part.resource.kind.clone(),
                name,
            },
            version: kubelet_version(observed, part).or(known),
            ..MachineSpec::default()
        },
        status: None,
    }
}

fn labels(pool: &MachinePool) -> std::collections::BTreeMap<String, String> {
    let mut labels = pool.spec.template.metadata.clone().unwrap_or_default().labels;
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    labels.insert(POOL_NAME.to_owned(), naming::label_value(name));
    labels.insert(CLUSTER_NAME.to_owned(), pool.spec.cluster_name.clone());
    labels
}

/// Returns the version of the kubelet on the machine's Node.
fn kubelet_version(observed: &Observed, part: &ExternalObject) -> Option<String> {
    let id = part.text("/spec/providerID")?;
    let has_id = |node: &&Arc<Node>| {
        node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).is_some_and(|other| other == id)
    };
    let node = observed.nodes.as_ref()?.iter().find(has_id)?;
    let info = node.status.as_ref()?.node_info.as_ref()?;
    Some(info.kubelet_version.clone()).filter(|version| !version.is_empty())
}

/// Returns the change of the condition `UpToDate`; `None` if the Machine has it already.
fn mark(observed: &Observed, machine: &Arc<Machine>) -> Option<Step> {
    let goes = is_deleting(observed.pool.as_ref()) || is_deleting(machine.as_ref());
    let condition = if goes {
        conditions::is_false(UP_TO_DATE, "NotUpToDate", "Machine is being deleted")
    } else {
        conditions::is_true(UP_TO_DATE, "UpToDate")
    };
    let mut wanted = machine.as_ref().clone();
    conditions::set(&mut wanted, observed.now, condition);
    (wanted != **machine).then(|| Step::patch_owned(machine, wanted, &[UP_TO_DATE]).unless_gone())
}
