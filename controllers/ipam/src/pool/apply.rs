//! Performs the plan of a pool.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Error, NamespacedName, Result, finalizer, unless_gone};
use futures::StreamExt;
use schemas::ipam::{IPAddress, IPAddressClaim};

use super::PoolReconciler;
use super::observed::Observed;
use super::plan::{Action, Plan, Step};
use crate::claims::{self, Refusal};
use crate::creations::is_refusal;
use crate::limits;
use crate::names::{PROTECT_ADDRESS, RELEASE_ADDRESS};
use crate::pools::Pool;

impl<P: Pool> PoolReconciler<P> {
    /// Performs the plan and returns the first errors of its steps. A failed step does not prevent the others.
    pub(super) async fn apply(&self, observed: &Observed<P>, plan: Plan<P>) -> Vec<Error> {
        let now = self.manager.clock().now();
        let mut errors = Vec::new();
        for address in &plan.orphans {
            errors.extend(self.release(address).await.err());
        }
        let steps = plan.steps.into_iter().map(|step| self.perform(&observed.name, step, now));
        let results: Vec<Result<()>> =
            futures::stream::iter(steps).buffered(limits::CLAIMS_AT_ONCE).collect().await;
        errors.extend(results.into_iter().filter_map(Result::err));
        if let (Some(read), Some(wanted)) = (&observed.pool, &plan.pool) {
            errors.extend(unless_gone(self.pools.patch(read, wanted, &[]).await).err());
        }
        errors.truncate(limits::ERRORS_REPORTED);
        errors
    }

    async fn perform(&self, pool: &NamespacedName, step: Step, now: DateTime<Utc>) -> Result<()> {
        let Some(claim) = self.claims.get(&step.claim) else { return Ok(()) };
        match step.action {
            Action::Allocate(address) => self.allocate(pool, &claim, &address, now).await,
            Action::Settle(wanted) => {
                if let Some(read) = self.addresses.get(&NamespacedName::of(wanted.as_ref())) {
                    self.addresses.patch(&read, &wanted, &[]).await?;
                    self.settle(&claim, &wanted, now).await?;
                }
                Ok(())
            }
            Action::Refuse(refusal) => self.refuse(&claim, &refusal, now).await,
            Action::Release(address) => {
                if let Some(address) = address {
                    self.release(&address).await?;
                }
                let mut wanted = claim.as_ref().clone();
                finalizer::remove(&mut wanted, RELEASE_ADDRESS);
                unless_gone(self.claims.patch(&claim, &wanted, &[]).await)
            }
        }
    }

    /// Creates the IPAddress of a claim.
    async fn allocate(
        &self,
        pool: &NamespacedName,
        claim: &Arc<IPAddressClaim>,
        address: &IPAddress,
        now: DateTime<Utc>,
    ) -> Result<()> {
        // The finalizer is there before the address, or else nobody would release it.
        let claim = finalizer::ensure(&self.claims, claim, RELEASE_ADDRESS).await?;
        let name = NamespacedName::of(address);
        self.creations.begin(pool, &name);
        match self.addresses.create(address).await {
            Ok(created) => {
                self.creations.end(pool, &name);
                self.settle(&claim, &created, now).await
            }
            // The note remains, so that the next reconcile reads the object that the cache does not have yet.
            Err(error) if error.is_already_exists() => Err(error),
            Err(error) if is_refusal(&error) => {
                self.creations.end(pool, &name);
                let refusal = Refusal::Failed(format!("the IPAddress cannot be created: {error}"));
                self.refuse(&claim, &refusal, now).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Records the address in the claim.
    async fn settle(
        &self,
        claim: &Arc<IPAddressClaim>,
        address: &IPAddress,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let mut wanted = claim.as_ref().clone();
        claims::settle(&mut wanted, address, now);
        unless_gone(self.claims.patch(claim, &wanted, &["Ready"]).await)
    }

    async fn refuse(&self, claim: &Arc<IPAddressClaim>, refusal: &Refusal, now: DateTime<Utc>) -> Result<()> {
        let mut wanted = claim.as_ref().clone();
        claims::refuse(&mut wanted, refusal, now);
        unless_gone(self.claims.patch(claim, &wanted, &["Ready"]).await)
    }

    /// Deletes an address.
    async fn release(&self, address: &NamespacedName) -> Result<()> {
        let Some(found) = self.addresses.get(address) else { return Ok(()) };
        self.addresses.delete(found.as_ref()).await?;
        let Some(found) = self.addresses.get(address) else { return Ok(()) };
        let mut wanted = found.as_ref().clone();
        finalizer::remove(&mut wanted, PROTECT_ADDRESS);
        unless_gone(self.addresses.patch(&found, &wanted, &[]).await)
    }
}
