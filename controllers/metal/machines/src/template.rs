//! Copies `automatedCleaningMode` of a Metal3MachineTemplate to the machines that were cloned from it (`contract/metal3`, §2.7).

use std::sync::Arc;

use engine::names::{CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME};
use engine::object::{annotation, is_deleting};
use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, NamespacedName, Objects, Reconciler, Request,
    Result,
};
use schemas::infrastructure::{Metal3Machine, Metal3MachineTemplate};

use crate::names::GROUP;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "metal3machinetemplate",
    reconciles: &[GroupKind::new(Metal3MachineTemplate::GROUP, Metal3MachineTemplate::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let reconciler = TemplateReconciler { templates: manager.objects(), machines: manager.objects() };
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&reconciler.templates.clone())
        .watches(&reconciler.machines.clone(), |change| {
            // A machine that was cloned in the moment of the change has the older value.
            let created = change.new.as_ref().filter(|_| change.old.is_none());
            created.and_then(template_of).into_iter().collect()
        })
        .start(reconciler);
}

struct TemplateReconciler {
    templates: Objects<Metal3MachineTemplate>,
    machines: Objects<Metal3Machine>,
}

/// Returns the template from which a machine was cloned.
fn template_of(machine: &Arc<Metal3Machine>) -> Option<NamespacedName> {
    let kind = annotation(machine.as_ref(), CLONED_FROM_GROUP_KIND)?;
    let name = annotation(machine.as_ref(), CLONED_FROM_NAME)?;
    let is_ours = kind == format!("{}.{GROUP}", Metal3MachineTemplate::KIND);
    is_ours.then(|| NamespacedName::new(machine.metadata.namespace.clone().unwrap_or_default(), name))
}

impl Reconciler for TemplateReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(template) = self.templates.get(&request) else { return Ok(Action::done()) };
        let mode = &template.spec.template.spec.automated_cleaning_mode;
        let mut errors = Vec::new();
        for machine in self.machines.in_namespace(&request.namespace) {
            let is_clone = template_of(&machine).as_ref() == Some(&request) && !is_deleting(machine.as_ref());
            if !is_clone || machine.spec.automated_cleaning_mode == *mode {
                continue;
            }
            let mut wanted = machine.as_ref().clone();
            wanted.spec.automated_cleaning_mode.clone_from(mode);
            errors.extend(self.machines.patch(&machine, &wanted, &[]).await.err());
        }
        Error::aggregate(errors).map(|()| Action::done())
    }
}
