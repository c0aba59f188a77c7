//! Carries out the plan of a MachineDeployment.

use engine::object::uid;
use engine::{Error, NamespacedName, Outcome};
use schemas::cluster::{MachineDeployment, MachineSet};

use super::observe::{MachineDeploymentController, Observed};
use super::plan::Plan;
use crate::change::{Event, apply_external};

const FIELD_MANAGER: &str = "capi-machinedeployment";

impl MachineDeploymentController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<MachineDeployment> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for (current, wanted) in &plan.sets {
            let result =
                self.sets.apply_changed(&self.applied, FIELD_MANAGER, current.as_ref(), wanted).await;
            // Only the name of a new MachineSet is another one each time.
            let suffix = if current.is_none() { observed.suffix.as_str() } else { "" };
            let result = result.map_err(|error| error.without_suffix(suffix));
            self.event(observed, applied(current.as_deref(), wanted, result.as_ref().err()));
            errors.extend(result.err());
        }
        for set in &plan.delete {
            let result = self.sets.delete(set.as_ref()).await;
            self.event(observed, Some(deleted(set, result.as_ref().err())));
            errors.extend(result.err());
            self.applied.forget(uid(set.as_ref()));
        }
        Outcome { wanted: Some(plan.deployment), errors, action: plan.action }
    }

    fn event(&self, observed: &Observed, event: Option<Event>) {
        if let Some(event) = event {
            event.record(&self.recorder, observed.deployment.as_ref());
        }
    }
}

/// Returns the event about a MachineSet that was created or changed, or could not be; `None` if only other fields than the number of
/// replicas change, or if somebody else changed the MachineSet in the meantime, which the next reconcile takes into account.
fn applied(current: Option<&MachineSet>, wanted: &MachineSet, error: Option<&Error>) -> Option<Event> {
    if error.is_some_and(Error::is_conflict) {
        return None;
    }
    let to = wanted.spec.replicas.unwrap_or(0);
    let name = NamespacedName::of(wanted);
    let Some(current) = current else {
        return Some(match error {
            None => {
                Event::normal("SuccessfulCreate", format!("Created MachineSet {name} with {to} replicas"))
            }
            Some(error) => Event::warning("FailedCreate", format!("Failed to create a MachineSet: {error}")),
        });
    };
    let from = current.spec.replicas.unwrap_or(0);
    let name = name.name;
    match error {
        None if from == to => None,
        Some(error) if from == to => {
            let message = format!("Failed to update MachineSet {name}: {error}");
            Some(Event::warning("FailedUpdate", message))
        }
        Some(error) => {
            let message = format!("Failed to scale MachineSet {name}: {from} -> {to}: {error}");
            Some(Event::warning("FailedScale", message))
        }
        None => {
            let direction = if to > from { "up" } else { "down" };
            let message = format!("Scaled {direction} MachineSet {name}: {from} -> {to}");
            Some(Event::normal("SuccessfulScale", message))
        }
    }
}

fn deleted(set: &MachineSet, error: Option<&Error>) -> Event {
    let name = set.metadata.name.as_deref().unwrap_or_default();
    match error {
        None => Event::normal("SuccessfulDelete", format!("Deleted MachineSet \"{name}\"")),
        Some(error) => Event::warning("FailedDelete", format!("Failed to delete MachineSet {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(replicas: i32) -> MachineSet {
        let mut set = MachineSet::default();
        set.metadata.name = Some("md-abc".to_owned());
        set.metadata.namespace = Some("default".to_owned());
        set.spec.replicas = Some(replicas);
        set
    }

    #[test]
    fn events_about_sets() {
        let refused = Error::failed("refused");
        type Row<'a> = (Option<i32>, i32, Option<&'a Error>, &'a str, &'a str);
        let rows: [Row<'_>; 7] = [
            (None, 3, None, "SuccessfulCreate", "Created MachineSet default/md-abc with 3 replicas"),
            (None, 3, Some(&refused), "FailedCreate", "Failed to create a MachineSet: refused"),
            (Some(1), 3, None, "SuccessfulScale", "Scaled up MachineSet md-abc: 1 -> 3"),
            (Some(3), 1, None, "SuccessfulScale", "Scaled down MachineSet md-abc: 3 -> 1"),
            (Some(3), 1, Some(&refused), "FailedScale", "Failed to scale MachineSet md-abc: 3 -> 1: refused"),
            (Some(3), 3, Some(&refused), "FailedUpdate", "Failed to update MachineSet md-abc: refused"),
            (Some(3), 3, None, "", ""),
        ];
        for (from, to, error, reason, message) in rows {
            let event = applied(from.map(set).as_ref(), &set(to), error);
            let expected = (!reason.is_empty()).then(|| (reason.starts_with("Failed"), reason, message));
            let found = event.as_ref().map(|event| (event.warning, event.reason, event.message.as_str()));
            assert_eq!(found, expected);
        }
        assert_eq!(deleted(&set(0), None).reason, "SuccessfulDelete");
        assert_eq!(deleted(&set(0), Some(&refused)).reason, "FailedDelete");
    }
}
