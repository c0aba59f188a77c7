//! Carries out the plan of a Metal3Remediation.

use engine::{Action, NamespacedName, Result, unless_gone};
use k8s_openapi::api::core::v1::Node;

use super::observe::RemediationController;
use super::observed::Observed;
use super::plan::Plan;

impl RemediationController {
    /// Carries out the plan. The remediation itself is written last, so that a step that failed is repeated.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Result<Action> {
        if let (Some(read), Some(wanted)) = (&observed.host, &plan.host) {
            self.hosts.patch_unchanged(read, wanted).await?;
        }
        if let (Some(read), Some(wanted), Some(cluster)) = (&observed.node, &plan.node, &observed.cluster)
            && read.as_ref() != wanted
        {
            let workload = self.manager.clusters().get(&NamespacedName::of(cluster.as_ref()))?;
            unless_gone(workload.objects::<Node>().patch(read, wanted, &[]).await)?;
        }
        if let (Some(read), Some(wanted)) = (&observed.machine, &plan.machine) {
            unless_gone(self.machines.patch(read, wanted, &["OwnerRemediated"]).await)?;
        }
        unless_gone(self.remediations.patch(&observed.remediation, &plan.remediation, &[]).await)?;
        Ok(plan.action)
    }
}
