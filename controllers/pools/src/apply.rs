//! Carries out the plan of a DevMachinePool.

use engine::{Action, Outcome, unless_gone};
use schemas::infrastructure::DevMachinePool;

use crate::observe::DevMachinePoolController;
use crate::plan::Plan;

impl DevMachinePoolController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(crate) async fn execute(&self, plan: Plan) -> Outcome<DevMachinePool> {
        let mut errors = Vec::new();
        for (read, wanted) in &plan.own {
            errors.extend(unless_gone(self.dev_machines.patch(read, wanted, &[]).await).err());
        }
        for machine in &plan.delete_machines {
            errors.extend(self.machines.delete(machine.as_ref()).await.err());
        }
        for dev in &plan.delete {
            errors.extend(self.dev_machines.delete(dev.as_ref()).await.err());
        }
        for dev in &plan.create {
            errors.extend(self.dev_machines.create(dev).await.err());
        }
        Outcome { wanted: Some(plan.wanted), errors, action: Action::done() }
    }
}
