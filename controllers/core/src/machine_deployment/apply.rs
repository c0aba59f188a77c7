//! Does what a plan for a MachineDeployment says.

use engine::object::uid;
use engine::{Error, Outcome};
use schemas::cluster::MachineDeployment;

use super::observe::{MachineDeploymentController, Observed};
use super::plan::Plan;
use crate::change::apply_external;

const FIELD_MANAGER: &str = "capi-machinedeployment";

impl MachineDeploymentController {
    /// Does it, step by step; one that fails keeps no other from being done.
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
            self.recorder.normal(observed.deployment.as_ref(), &(), event.reason, event.message);
        }
        Outcome { wanted: Some(plan.deployment), errors, action: plan.action }
    }
}
