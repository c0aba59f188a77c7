//! Performs the plan of a pool.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Error, NamespacedName, Result, finalizer, unless_gone};
use futures::StreamExt;
use schemas::metal3_ipam::IPPool;

use super::observed::Observed;
use super::plan::{Action, Plan, Step};
use super::{PoolReconciler, Side};
use crate::ipam::claims::{Api, Claim};
use crate::limits;

impl PoolReconciler {
    /// Performs the plan and returns the errors of its steps. A failed step does not prevent the others.
    pub(super) async fn apply(&self, observed: &Observed, plan: Plan) -> Vec<Error> {
        let now = self.manager.clock().now();
        let mut errors = Vec::new();
        for (api, name) in &plan.orphans {
            let key = NamespacedName::new(observed.name.namespace.as_str(), name.as_str());
            let released = match api {
                Api::Metal3 => self.metal3.release(&key).await,
                Api::ClusterApi => self.cluster_api.release(&key).await,
            };
            errors.extend(released.err());
        }
        let steps = plan.steps.into_iter().map(|step| async move {
            let pool = observed.pool.as_deref();
            match step.api {
                Api::Metal3 => self.metal3.perform(&observed.name, pool, step, now).await,
                Api::ClusterApi => self.cluster_api.perform(&observed.name, pool, step, now).await,
            }
        });
        let results: Vec<Result<()>> =
            futures::stream::iter(steps).buffered(limits::CLAIMS_AT_ONCE).collect().await;
        errors.extend(results.into_iter().filter_map(Result::err));
        if let (Some(read), Some(wanted)) = (&observed.pool, &plan.pool) {
            errors.extend(unless_gone(self.pools.patch(read, wanted, &[]).await).err());
        }
        errors
    }
}

impl<C: Claim> Side<C> {
    async fn perform(
        &self,
        pool_name: &NamespacedName,
        pool: Option<&IPPool>,
        step: Step,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let key = NamespacedName::new(pool_name.namespace.as_str(), step.claim);
        let Some(claim) = self.claims.get(&key) else { return Ok(()) };
        match (step.action, pool) {
            (Action::Allocate(name, allocation), Some(pool)) => {
                let claim = finalizer::ensure(&self.claims, &claim, C::FINALIZER).await?;
                let address = claim.address(pool, name.clone(), &allocation);
                match self.addresses.create(&address).await {
                    Ok(_) => self.settle(&claim, &name, now).await,
                    Err(error) if error.is_already_exists() => {
                        // An object that the cache does not have yet. Once it has it, the retry takes another address.
                        self.addresses.get_live(&NamespacedName::of(&address)).await?;
                        Err(error)
                    }
                    Err(error) => Err(error),
                }
            }
            (Action::Allocate(..), None) => Ok(()),
            (Action::Settle(name), _) => self.settle(&claim, &name, now).await,
            (Action::Refuse(refusal), _) => {
                let mut wanted = claim.as_ref().clone();
                wanted.refuse(&refusal, now);
                unless_gone(self.claims.patch(&claim, &wanted, &["Ready"]).await)
            }
            (Action::Release(address), _) => {
                if let Some(name) = address {
                    self.release(&NamespacedName::new(key.namespace, name)).await?;
                }
                let mut wanted = claim.as_ref().clone();
                finalizer::remove(&mut wanted, C::FINALIZER);
                unless_gone(self.claims.patch(&claim, &wanted, &[]).await)
            }
        }
    }

    /// Records the address in the claim.
    async fn settle(&self, claim: &Arc<C>, address: &str, now: DateTime<Utc>) -> Result<()> {
        let mut wanted = claim.as_ref().clone();
        finalizer::add(&mut wanted, C::FINALIZER);
        wanted.settle(address, now);
        unless_gone(self.claims.patch(claim, &wanted, &["Ready"]).await)
    }

    /// Deletes an address.
    async fn release(&self, address: &NamespacedName) -> Result<()> {
        let Some(found) = self.addresses.get(address) else { return Ok(()) };
        self.addresses.delete(found.as_ref()).await?;
        let Some(found) = self.addresses.get(address) else { return Ok(()) };
        let mut wanted = found.as_ref().clone();
        finalizer::remove(&mut wanted, C::ADDRESS_FINALIZER);
        unless_gone(self.addresses.patch(&found, &wanted, &[]).await)
    }
}
