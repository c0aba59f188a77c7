//! Carries out the plan of a MachineDeployment.

use engine::object::uid;
use engine::{Error, Outcome};
use schemas::cluster::MachineDeployment;

use super::events::{applied, deleted};
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
