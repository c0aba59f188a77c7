//! Carries out the plan of a MachineDeployment.

use engine::object::uid;
use engine::{Error, Outcome};
use schemas::cluster::MachineDeployment;

use super::observe::{MachineDeploymentController, Observed};
use super::plan::Plan;
use crate::change::apply_external;

const FIELD_MANAGER: &str = "capi-machinedeployment";

impl MachineDeploymentController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<MachineDeployment> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for (current, wanted) in &plan.sets {
            let result =
                self.sets.apply_changed(&self.applied, FIELD_MANAGER, current.as_ref(), wanted).await;
            errors.extend(result.err());
        }
        for set in &plan.delete {
            errors.extend(self.sets.delete(set.as_ref()).await.err());
            self.applied.forget(uid(set.as_ref()));
        }
        for event in plan.events {
            event.record(&self.recorder, observed.deployment.as_ref());
        }
        Outcome { wanted: Some(plan.deployment), errors, action: plan.action }
    }
}
