//! Carries out the plan of a Cluster.

use std::sync::Arc;

use engine::steps::Event;
use engine::{Action, Error, Kind, Objects, Outcome, Result};
use schemas::cluster::Cluster;
use schemas::deletion_grace::ANNOTATION;

use super::kubeconfig;
use super::observe::{ClusterController, Observed};
use super::plan::Plan;
use crate::change::apply_external;

impl ClusterController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<Cluster> {
        if plan.ends_grace_period {
            return self.end_grace_period(observed, plan.events).await;
        }
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        errors.extend(apply_external(&self.external, &plan.external).await);
        errors.extend(self.delete_each(&self.deployments, &plan.delete.deployments).await);
        errors.extend(self.delete_each(&self.sets, &plan.delete.sets).await);
        errors.extend(self.delete_each(&self.pools, &plan.delete.pools).await);
        errors.extend(self.delete_each(&self.machines, &plan.delete.machines).await);
        for object in &plan.delete.external {
            errors.extend(self.external.handle(object).delete(object.object.as_ref()).await.err());
        }
        if plan.create_kubeconfig {
            errors.extend(self.create_kubeconfig(observed).await.err());
        }
        for event in plan.events {
            event.record(&self.recorder, observed.cluster.as_ref());
        }
        Outcome { wanted: Some(plan.cluster), errors, action: plan.action }
    }

    /// Removes the annotation, unless the Cluster has changed since it was read: its deletion may have been undone.
    async fn end_grace_period(&self, observed: &Observed, events: Vec<Event>) -> Outcome<Cluster> {
        let mut wanted = observed.cluster.as_ref().clone();
        if let Some(annotations) = &mut wanted.metadata.annotations {
            annotations.remove(ANNOTATION);
        }
        if let Err(error) = self.clusters.patch_unchanged(&observed.cluster, &wanted).await {
            return Outcome::failed(error);
        }
        for event in events {
            event.record(&self.recorder, observed.cluster.as_ref());
        }
        // The write is a change of the Cluster, which is reconciled again for it.
        Outcome::done(Action::done())
    }

    async fn delete_each<K: Kind>(&self, objects: &Objects<K>, list: &[Arc<K>]) -> Vec<Error> {
        let mut errors = Vec::new();
        for object in list {
            errors.extend(objects.delete(object.as_ref()).await.err());
        }
        errors
    }

    async fn create_kubeconfig(&self, observed: &Observed) -> Result<()> {
        let Some(authority) = &observed.authority else { return Ok(()) };
        let secret = kubeconfig::secret(&observed.cluster, authority, observed.now, self.manager.random())?;
        self.secrets.create_if_absent(&secret).await.map(|_| ())
    }
}
