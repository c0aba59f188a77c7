//! Carries out the plan of a MachineHealthCheck.

use engine::steps::Event;
use engine::{Error, NamespacedName, Outcome, conditions, unless_gone};
use schemas::cluster::MachineHealthCheck;

use super::observe::HealthCheckController;
use super::observed::Observed;
use super::plan::{Mark, Plan};
use super::{SUCCEEDED, remedy};

impl HealthCheckController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps for other Machines.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<MachineHealthCheck> {
        let mut errors = plan.errors;
        for mark in plan.marks {
            errors.extend(self.mark(observed, mark).await);
        }
        for request in &plan.delete {
            errors.extend(self.external.handle(request).delete(request.object.as_ref()).await.err());
        }
        for event in plan.events {
            event.record(&self.recorder, observed.check.as_ref());
        }
        Outcome { wanted: Some(plan.check), errors, action: plan.action }
    }

    /// Creates the object that asks for the remediation of a Machine, and writes the Machine's conditions.
    async fn mark(&self, observed: &Observed, mut mark: Mark) -> Vec<Error> {
        let mut errors = Vec::new();
        if let Some((request, resource)) = &mark.create
            && let Err(error) = self.manager.dynamic(resource).create_if_absent(request).await
        {
            conditions::set(&mut mark.wanted, observed.now, remedy::creation_failed());
            mark.is_new = false;
            errors.push(error);
        }
        let written = self.machines.patch(&mark.machine, &mark.wanted, &[SUCCEEDED]).await;
        if let Err(error) = unless_gone(written) {
            errors.push(error);
            return errors;
        }
        if mark.is_new {
            let message = format!(
                "Machine {} has been marked as unhealthy by {}",
                NamespacedName::of(mark.machine.as_ref()),
                NamespacedName::of(observed.check.as_ref())
            );
            Event::normal("MachineMarkedUnhealthy", message).record(&self.recorder, mark.machine.as_ref());
        }
        errors
    }
}
