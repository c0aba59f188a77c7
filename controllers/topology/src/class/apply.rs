//! Carries out the plan of a ClusterClass.

use engine::{Action, Error, Outcome, unless_gone};
use schemas::cluster::ClusterClass;

use super::observe::ClassController;
use super::observed::Observed;
use super::plan::Plan;

impl ClassController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, _: &Observed, plan: Plan) -> Outcome<ClusterClass> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(plan.missing.into_iter().map(Error::Terminal));
        for (reference, read, wanted) in &plan.owned {
            match self.external.objects_at(&reference.api_version, &reference.kind).await {
                Ok(objects) => errors.extend(unless_gone(objects.patch(read, wanted, &[]).await).err()),
                Err(error) => errors.push(error),
            }
        }
        Outcome { wanted: Some(plan.class), errors, action: Action::done() }
    }
}
