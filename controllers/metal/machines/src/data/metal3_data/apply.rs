//! Performs the plan of a Metal3Data.

use engine::{Result, unless_gone};

use super::DataReconciler;
use super::observed::Observed;
use super::plan::Plan;

impl DataReconciler {
    /// Performs the plan. The Metal3Data is written last, so that it is ready only with its Secrets, and gone only without its claims.
    pub(super) async fn apply(&self, observed: &Observed, plan: Plan) -> Result<()> {
        if plan.returns_addresses {
            self.addresses.return_addresses(&observed.data).await?;
        }
        for (pool, name) in &plan.claims {
            self.addresses.claim(&observed.data, pool, name).await?;
        }
        for secret in &plan.secrets {
            self.secrets.create_if_absent(secret).await?;
        }
        unless_gone(self.data.patch(&observed.data, &plan.wanted, &[]).await)
    }
}
