//! Starts the update in place of Machines that came from another MachineSet: writes their new spec, and then the hook that makes the Machine controller go on.

use std::sync::Arc;

use engine::external::{Clone, clone_template};
use engine::in_place::{
    self, ACKNOWLEDGED_MOVE, PENDING_ACKNOWLEDGE_MOVE, PENDING_HOOKS, STARTED, STARTED_MESSAGE,
    UPDATE_IN_PROGRESS,
};
use engine::object::{annotation, is_deleting, uid};
use engine::steps::Event;
use engine::{ExternalObject, owners};
use kube::api::DynamicObject;
use schemas::cluster::{Machine, MachineSet};
use schemas::meta::ContractVersionedObjectReference;
use serde_json::json;

use super::create::{self, FIELD_MANAGER};
use super::moving;
use super::observed::Observed;
use super::plan::Step;
use crate::change::Reference;

/// A Machine whose update begins.
pub struct Start {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// The Machine as the MachineSet wants it.
    pub wanted: Machine,
    /// The infrastructure and bootstrap objects, each with its wanted state.
    pub parts: Vec<(ExternalObject, DynamicObject)>,
}

/// Returns the starts of all updates that were not started yet, and why others can't be started.
pub(super) fn plan(observed: &Observed) -> (Vec<Start>, Vec<String>) {
    let set = observed.set.as_ref();
    let is_due = |machine: &&Arc<Machine>| {
        in_place::is_marked(machine.as_ref())
            && !in_place::is_hook_pending(machine.as_ref())
            && !is_deleting(machine.as_ref())
            && owners::is_controlled_by(machine.as_ref(), uid(set))
            && is_counted(set, machine)
    };
    let (mut starts, mut errors) = (Vec::new(), Vec::new());
    for machine in observed.machines.iter().filter(is_due) {
        match start(observed, machine) {
            Ok(start) => starts.push(start),
            Err(why) => {
                let name = machine.metadata.name.as_deref().unwrap_or_default();
                errors.push(format!("the update of Machine {name} can't be started: {why}"));
            }
        }
    }
    (starts, errors)
}

/// Returns whether the MachineDeployment has counted the Machine. If this MachineSet gets no more Machines, those that it has are its own.
fn is_counted(set: &MachineSet, machine: &Machine) -> bool {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    annotation(machine, PENDING_ACKNOWLEDGE_MOVE).is_none()
        || !moving::receives(set)
        || in_place::names(annotation(set, ACKNOWLEDGED_MOVE)).any(|counted| counted == name)
}

fn start(observed: &Observed, machine: &Arc<Machine>) -> Result<Start, String> {
    let set = observed.set.as_ref();
    let mut wanted = create::existing(set, machine);
    wanted.spec.version.clone_from(&set.spec.template.spec.version);
    wanted.spec.failure_domain.clone_from(&set.spec.template.spec.failure_domain);
    let mut parts = vec![part(observed, &machine.spec.infrastructure_ref, &observed.infrastructure)?];
    if let Some(reference) = &machine.spec.bootstrap.config_ref {
        parts.push(part(observed, reference, &observed.bootstrap)?);
    }
    Ok(Start { machine: machine.clone(), wanted, parts })
}

/// Returns the object that a Machine refers to, and its state by the template.
fn part(
    observed: &Observed,
    reference: &ContractVersionedObjectReference,
    template: &Reference,
) -> Result<(ExternalObject, DynamicObject), String> {
    let set = observed.set.as_ref();
    let is_meant = |part: &&ExternalObject| {
        part.resource.kind == reference.kind
            && part.resource.group == reference.api_group
            && part.object.metadata.name.as_ref() == Some(&reference.name)
    };
    let current = observed.parts.iter().find(is_meant);
    let missing = || format!("{} {} does not exist", reference.kind, reference.name);
    let current = current.ok_or_else(missing)?;
    let template =
        template.found().ok_or_else(|| format!("the template of {} does not exist", reference.kind))?;
    let clone = Clone {
        name: reference.name.clone(),
        namespace: set.metadata.namespace.clone().unwrap_or_default(),
        labels: create::labels(set),
        annotations: create::annotations(set),
        owner: None,
    };
    let (mut wanted, _) = clone_template(template, clone).map_err(|error| error.to_string())?;
    // With the UID, the apply fails instead of recreating an object that was deleted in the meantime.
    wanted.metadata.uid.clone_from(&current.object.metadata.uid);
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(UPDATE_IN_PROGRESS.to_owned(), String::new());
    Ok((current.clone(), wanted))
}

impl Start {
    /// Returns the UIDs of the Machine and of its objects.
    pub(super) fn uids(&self) -> impl Iterator<Item = String> {
        let parts = self.parts.iter().map(|(part, _)| uid(part.object.as_ref()));
        std::iter::once(uid(self.machine.as_ref())).chain(parts).map(str::to_owned)
    }

    /// Returns the steps: the objects, the one that is refused most likely first, then the Machine, and then the hook. Repeated as a whole
    /// after a failure.
    pub(super) fn steps(self) -> Vec<Step> {
        let Self { machine, wanted, parts } = self;
        let hooks = in_place::with_hook(machine.as_ref());
        let annotations = json!({PENDING_ACKNOWLEDGE_MOVE: null, PENDING_HOOKS: hooks});
        let parts = parts.into_iter().map(|(part, wanted)| Step::apply(FIELD_MANAGER, &part, wanted));
        let rest = [
            Step::apply(FIELD_MANAGER, &machine, wanted),
            Step::merge(&machine, json!({"metadata": {"annotations": annotations}})),
            Step::tell(Event::normal(STARTED, STARTED_MESSAGE).about(machine.as_ref())),
        ];
        parts.chain(rest).collect()
    }
}
