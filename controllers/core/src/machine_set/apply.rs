//! Carries out the plan of a MachineSet.

use engine::object::uid;
use engine::{Error, Outcome, Result, owners, unless_gone};
use schemas::cluster::MachineSet;

use super::create::FIELD_MANAGER;
use super::observe::{MachineSetController, Observed};
use super::plan::Plan;
use super::remediation::{OWNER_REMEDIATED, Remediation};
use crate::change::{Event, apply_external};

const METADATA_FIELD_MANAGER: &str = "capi-machineset-metadata";

impl MachineSetController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, mut plan: Plan) -> Outcome<MachineSet> {
        let mut errors: Vec<Error> =
            std::mem::take(&mut plan.errors).into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for remediation in &plan.remediate {
            errors.extend(self.remediate(remediation).await.err());
        }
        errors.extend(self.remove_metadata(&mut plan).await);
        for (current, wanted) in &plan.sync {
            let result =
                self.machines.apply_changed(&self.applied, FIELD_MANAGER, Some(current), wanted).await;
            errors.extend(result.err());
        }
        for (current, wanted) in &plan.update {
            match self.machines.patch(current, wanted, &[]).await {
                // The Machine is being deleted and disappeared in the meantime.
                Err(error) if error.is_not_found() => {}
                result => errors.extend(result.err()),
            }
        }
        for (part, wanted) in &plan.sync_parts {
            let objects = self.external.handle(part);
            let current = Some(&part.object);
            let result = objects.apply_changed(&self.applied, METADATA_FIELD_MANAGER, current, wanted).await;
            errors.extend(result.err());
        }
        for start in &plan.starts {
            errors.extend(self.start_update(start).await.err());
        }
        for (machine, wanted) in &plan.moves {
            errors.extend(unless_gone(self.machines.patch(machine, wanted, &[]).await).err());
        }
        for part in &plan.delete_parts {
            errors.extend(self.external.handle(part).delete(part.object.as_ref()).await.err());
        }
        for machine in &plan.delete {
            let name = machine.metadata.name.clone().unwrap_or_default();
            match self.machines.delete(machine.as_ref()).await {
                Ok(()) => self.event(
                    observed,
                    Event::normal("SuccessfulDelete", format!("Deleted Machine \"{name}\"")),
                ),
                Err(error) => {
                    let message = format!("Failed to delete Machine \"{name}\": {error}");
                    self.event(observed, Event::warning("FailedDelete", message));
                    errors.push(error);
                }
            }
        }
        if let Some(event) = plan.newly_blocked {
            self.event(observed, event);
        }
        for wanted in &plan.create {
            match self.create(observed, wanted).await {
                Ok(name) => {
                    self.event(
                        observed,
                        Event::normal("SuccessfulCreate", format!("Created Machine \"{name}\"")),
                    );
                }
                Err(error) => {
                    let error = error.without_suffix(&wanted.suffix);
                    let message = format!("Failed to create a Machine: {error}");
                    self.event(observed, Event::warning("FailedCreate", message));
                    errors.push(error);
                }
            }
        }
        Outcome { wanted: Some(plan.set), errors, action: plan.action }
    }

    /// Removes labels and annotations that the template no longer has. If that fails, the Machine keeps them, so that the next reconcile finds them again.
    async fn remove_metadata(&self, plan: &mut Plan) -> Vec<Error> {
        let mut errors = Vec::new();
        for (part, removed) in &plan.remove_metadata {
            let (objects, managers) = (self.external.handle(part), [FIELD_MANAGER, METADATA_FIELD_MANAGER]);
            let result = objects.remove_propagated(&self.applied, &managers, &part.object, removed).await;
            if let Err(error) = result {
                let machine = owners::controller(part.object.as_ref()).map(|owner| owner.uid.as_str());
                plan.sync.retain(|(synced, _)| Some(uid(synced.as_ref())) != machine);
                errors.push(error);
            }
        }
        errors
    }

    /// Writes the Machine's condition, then deletes it. In the other order, a process that ends in between would leave a Machine whose
    /// deletion does not count as remediation.
    async fn remediate(&self, remediation: &Remediation) -> Result<()> {
        let Remediation { machine, wanted, deletes } = remediation;
        unless_gone(self.machines.patch(machine, wanted, &[OWNER_REMEDIATED]).await)?;
        if *deletes { self.machines.delete(machine.as_ref()).await } else { Ok(()) }
    }

    fn event(&self, observed: &Observed, event: Event) {
        event.record(&self.recorder, observed.set.as_ref());
    }
}
