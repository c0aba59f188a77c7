//! Propagates the template fields that need no rollout to existing Machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::object::{is_deleting, uid};
use engine::propagated::Removed;
use engine::{ExternalObject, Steps, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use schemas::cluster::{Machine, MachineDeletionSpec, MachineSet};

use super::create::{self, FIELD_MANAGER, NewMachine};
use super::observed::Observed;
use super::plan::Step;

/// The field manager of the labels and annotations that a Machine's objects get later.
const METADATA_FIELD_MANAGER: &str = "capi-machineset-metadata";

/// Adds the changes of each Machine and of its bootstrap and infrastructure objects, except for those with the UIDs `written`.
pub fn plan(steps: &mut Steps<NewMachine>, observed: &Observed, written: &BTreeSet<String>) {
    let (removals, additions) = parts(observed, written);
    steps.extend(removals);
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    for machine in &observed.machines {
        if is_deleting(machine.as_ref()) {
            others.push(Step::patch(machine, deleting(&observed.set, machine)).unless_gone());
        } else if !owners::is_controlled_by(machine.as_ref(), uid(observed.set.as_ref())) {
            others.push(Step::patch(machine, adopted(&observed.set, machine)).unless_gone());
        } else if !written.contains(uid(machine.as_ref())) {
            let wanted = create::existing(&observed.set, machine);
            kept.push(Step::apply(FIELD_MANAGER, machine, wanted).needs(uid(machine.as_ref())));
        }
    }
    steps.extend(kept.into_iter().chain(others).chain(additions));
}

/// Returns the removals of labels and annotations that the template no longer has, and the additions of those that it has. If a removal
/// fails, the Machine keeps them, so that the next reconcile finds them again.
fn parts(observed: &Observed, written: &BTreeSet<String>) -> (Vec<Step>, Vec<Step>) {
    let followed: BTreeMap<&str, &Arc<Machine>> = observed
        .machines
        .iter()
        .filter(|machine| !is_deleting(machine.as_ref()))
        .map(|machine| (uid(machine.as_ref()), machine))
        .collect();
    let annotations = create::annotations(&observed.set);
    let wanted = ObjectMeta {
        labels: Some(create::labels(&observed.set)),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        ..ObjectMeta::default()
    };
    let (mut removals, mut additions) = (Vec::new(), Vec::new());
    for part in observed.parts.iter().filter(|part| !written.contains(uid(part.object.as_ref()))) {
        // The MachineSet's own objects have no labels to update yet.
        let owner = owners::controller(part.object.as_ref());
        let machine = owner.and_then(|owner| followed.get(owner.uid.as_str()));
        let Some(machine) = machine.filter(|_| !is_deleting(part.object.as_ref())) else { continue };
        let present = &part.object.metadata;
        removals.extend(Removed::of(&machine.metadata, present, &wanted).map(|removed| {
            let managers = &[FIELD_MANAGER, METADATA_FIELD_MANAGER];
            Step::remove_metadata(part, removed, managers).named(uid(machine.as_ref()))
        }));
        if !has_all(present, &wanted) {
            additions.push(Step::apply(METADATA_FIELD_MANAGER, part, with_metadata(part, &wanted)));
        }
    }
    (removals, additions)
}

/// Returns a Machine in deletion with the template fields that still apply to it.
fn deleting(set: &MachineSet, machine: &Arc<Machine>) -> Machine {
    let template = &set.spec.template.spec;
    let mut wanted = machine.as_ref().clone();
    wanted.spec.min_ready_seconds = template.min_ready_seconds;
    wanted.spec.readiness_gates = template.readiness_gates.clone();
    wanted.spec.taints = template.taints.clone();
    let given = template.deletion.clone().unwrap_or_default();
    let deletion = wanted.spec.deletion.get_or_insert_default();
    deletion.node_drain_timeout_seconds = given.node_drain_timeout_seconds;
    deletion.node_volume_detach_timeout_seconds = given.node_volume_detach_timeout_seconds;
    // Admission gives each Machine this timeout.
    let current = deletion.node_deletion_timeout_seconds;
    deletion.node_deletion_timeout_seconds = given.node_deletion_timeout_seconds.or(current);
    if *deletion == MachineDeletionSpec::default() {
        wanted.spec.deletion = None;
    }
    wanted
}

fn adopted(set: &MachineSet, machine: &Arc<Machine>) -> Machine {
    let mut wanted = machine.as_ref().clone();
    owners::ensure(&mut wanted, owners::controller_reference(set, &()));
    wanted
}

/// Returns whether an object has all labels and annotations.
fn has_all(present: &ObjectMeta, wanted: &ObjectMeta) -> bool {
    let has = |present: Option<&BTreeMap<String, String>>, wanted: Option<&BTreeMap<String, String>>| {
        let mut wanted = wanted.into_iter().flatten();
        wanted.all(|(key, value)| present.and_then(|present| present.get(key)) == Some(value))
    };
    has(present.labels.as_ref(), wanted.labels.as_ref())
        && has(present.annotations.as_ref(), wanted.annotations.as_ref())
}

/// Returns what is applied to a bootstrap or infrastructure object to give it labels and annotations.
fn with_metadata(part: &ExternalObject, wanted: &ObjectMeta) -> DynamicObject {
    let meta = &part.object.metadata;
    let mut object = DynamicObject::new(meta.name.as_deref().unwrap_or_default(), &part.resource);
    object.data = serde_json::json!({});
    object.metadata = ObjectMeta {
        name: object.metadata.name,
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        ..wanted.clone()
    };
    object
}
