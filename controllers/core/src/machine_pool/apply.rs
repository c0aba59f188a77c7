//! Carries out the plan of a MachinePool.

use engine::{Error, NamespacedName, Outcome, unless_gone};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::MachinePool;

use super::machines::UP_TO_DATE;
use super::observe::{Observed, PoolController};
use super::plan::Plan;
use crate::change::apply_external;

/// The field manager of the Machines.
const FIELD_MANAGER: &str = "machinepool-controller";

impl PoolController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<MachinePool> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        for (current, wanted) in &plan.marks {
            errors.extend(unless_gone(self.machines.patch(current, wanted, &[UP_TO_DATE]).await).err());
        }
        for (current, wanted) in &plan.machines {
            let current = current.as_ref();
            let applied = self.machines.apply_changed(&self.applied, FIELD_MANAGER, current, wanted).await;
            errors.extend(applied.err());
        }
        if let Ok(workload) = self.manager.clusters().get(&NamespacedName::of(observed.cluster.as_ref())) {
            let nodes = workload.objects::<Node>();
            for (read, wanted) in &plan.nodes {
                errors.extend(unless_gone(nodes.patch(read, wanted, &[]).await).err());
            }
            for node in &plan.delete_nodes {
                errors.extend(nodes.delete(node.as_ref()).await.err());
            }
        }
        for object in &plan.delete {
            errors.extend(self.external.handle(object).delete(object.object.as_ref()).await.err());
        }
        Outcome { wanted: Some(plan.pool), errors, action: plan.action }
    }
}
