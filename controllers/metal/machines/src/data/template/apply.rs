//! Performs the plan of a template.

use std::sync::Arc;

use engine::{Error, NamespacedName, Result, finalizer, unless_gone};
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3ObjectReference};

use super::TemplateReconciler;
use super::observed::Observed;
use super::plan::{Plan, Step};
use crate::data::names::CLAIM_FINALIZER;

impl TemplateReconciler {
    /// Performs the plan and returns the errors of its steps. A failed step does not prevent the others.
    pub(super) async fn apply(&self, observed: &Observed, plan: Plan) -> Vec<Error> {
        let mut errors = Vec::new();
        for data in &plan.orphans {
            errors.extend(self.let_go(data).await.err());
        }
        for (claim, step) in plan.steps {
            errors.extend(self.perform(claim, step).await.err());
        }
        if let (Some(read), Some(wanted)) = (&observed.template, &plan.template) {
            errors.extend(unless_gone(self.templates.patch(read, wanted, &[]).await).err());
        }
        errors
    }

    async fn perform(&self, claim: Arc<Metal3DataClaim>, step: Step) -> Result<()> {
        match step {
            Step::Create(data) => {
                let claim = finalizer::ensure(&self.claims, &claim, CLAIM_FINALIZER).await?;
                match self.data.create(&data).await {
                    Ok(created) => {
                        self.settle(&claim, created.metadata.name.clone().unwrap_or_default()).await
                    }
                    Err(error) if error.is_already_exists() => {
                        // An object that the cache does not have yet. Once it has it, the retry takes another index.
                        self.data.get_live(&NamespacedName::of(data.as_ref())).await?;
                        Err(error)
                    }
                    Err(error) => Err(error),
                }
            }
            Step::Settle(name) => self.settle(&claim, name).await,
            Step::Refuse(message) => {
                let mut wanted = claim.as_ref().clone();
                wanted.status.get_or_insert_default().error_message = Some(message);
                unless_gone(self.claims.patch(&claim, &wanted, &[]).await)
            }
            Step::Release(data) => {
                if let Some(data) = data {
                    self.release(&data).await?;
                }
                let mut wanted = claim.as_ref().clone();
                finalizer::remove(&mut wanted, CLAIM_FINALIZER);
                unless_gone(self.claims.patch(&claim, &wanted, &[]).await)
            }
        }
    }

    /// Records the Metal3Data in the claim.
    async fn settle(&self, claim: &Arc<Metal3DataClaim>, data: String) -> Result<()> {
        let mut wanted = claim.as_ref().clone();
        finalizer::add(&mut wanted, CLAIM_FINALIZER);
        let namespace = claim.metadata.namespace.clone();
        let status = wanted.status.get_or_insert_default();
        status.rendered_data = Some(Metal3ObjectReference { name: Some(data), namespace });
        status.error_message = None;
        unless_gone(self.claims.patch(claim, &wanted, &[]).await)
    }

    /// Deletes a Metal3Data. Its own controller returns its addresses before it is gone; until then, its index is taken.
    async fn release(&self, data: &Arc<Metal3Data>) -> Result<()> {
        self.data.delete(data.as_ref()).await?;
        match self.data.get(&NamespacedName::of(data.as_ref())) {
            Some(data) => self.let_go(&data).await,
            None => Ok(()),
        }
    }

    async fn let_go(&self, data: &Arc<Metal3Data>) -> Result<()> {
        let mut wanted = data.as_ref().clone();
        finalizer::remove(&mut wanted, CLAIM_FINALIZER);
        unless_gone(self.data.patch(data, &wanted, &[]).await)
    }
}
