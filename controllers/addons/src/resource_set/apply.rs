//! Carries out the plan of a ClusterResourceSet.

use std::sync::Arc;

use engine::{Error, NamespacedName, Outcome, Result, Workload, unless_gone};
use futures::StreamExt;
use metrics::Limits;
use schemas::addons::{ClusterResourceSet, ResourceReference};

use super::observe::ResourceSetController;
use super::observed::Observed;
use super::outcome::{Applied, Failure, Verdict};
use super::plan::{Plan, Release, Target, Work};
use super::record;
use super::remote::Remote;
use super::source::Owned;
use super::status::conclude;
use crate::limits::CLUSTERS_AT_ONCE;

impl ResourceSetController {
    /// Carries out the plan. The Clusters are independent of each other: a dead one does not hold up the others.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<ClusterResourceSet> {
        if !plan.released.is_empty() {
            let errors = self.release(&plan.released).await;
            // The finalizer stays until no binding names the set.
            let wanted = errors.is_empty().then_some(plan.set);
            return Outcome { wanted, errors, action: engine::Action::done() };
        }
        let errors = self.own(&plan.owned).await;
        let mut applied = Vec::new();
        if errors.is_empty() {
            let mut work = Vec::new();
            for target in &plan.targets {
                work.push(self.apply_to(observed, target));
            }
            applied = futures::stream::iter(work).buffer_unordered(CLUSTERS_AT_ONCE).collect().await;
            applied.sort_by(|a: &Applied, b| a.cluster.cmp(&b.cluster));
        }
        conclude(plan, errors, applied, self.manager.clock().now())
    }

    /// Removes the set from bindings.
    async fn release(&self, released: &[Release]) -> Vec<Error> {
        let mut errors = Vec::new();
        for Release { read, wanted } in released {
            let result = match wanted {
                Some(wanted) => unless_gone(self.bindings.patch_unchanged(read, wanted).await),
                None => self.bindings.delete(read.as_ref()).await,
            };
            errors.extend(result.err());
        }
        errors
    }

    /// Makes the set an owner of its Secrets and ConfigMaps.
    async fn own(&self, owned: &[Owned]) -> Vec<Error> {
        let mut errors = Vec::new();
        for object in owned {
            let result = match object {
                Owned::Secret(read, wanted) => unless_gone(self.secrets.patch(read, wanted, &[]).await),
                Owned::ConfigMap(read, wanted) => {
                    unless_gone(self.config_maps.patch(read, wanted, &[]).await)
                }
            };
            errors.extend(result.err());
        }
        errors
    }

    /// Applies the resources to a Cluster and records it.
    async fn apply_to(&self, observed: &Observed, target: &Target) -> Applied {
        let mut applied = Applied {
            cluster: target.cluster.name.clone(),
            resources: Vec::new(),
            is_unconnected: false,
            error: None,
        };
        // The binding exists before the first object is applied.
        let new = record::new(&target.cluster, &observed.set);
        if let Err(error) = self.bindings.create_if_absent(&new).await {
            applied.error = Some(error);
            return applied;
        }
        if target.needs_connection {
            match self.manager.clusters().get(&target.cluster) {
                Ok(workload) => applied.resources = self.apply_all(&workload, &target.work).await,
                Err(_) => applied.is_unconnected = true,
            }
        }
        applied.error = self.record(observed, &target.cluster, &applied.resources).await.err();
        applied
    }

    async fn apply_all(&self, workload: &Arc<Workload>, work: &[Work]) -> Vec<(ResourceReference, Verdict)> {
        let mut remote = Remote::new(workload.client().clone(), self.manager.clock());
        let mut verdicts = Vec::new();
        for work in work {
            let failure = match &work.content.manifests {
                Ok(manifests) => remote.apply(manifests, work.updates, work.is_secret).await.err(),
                Err(fault) => {
                    if let Some(limit) = fault.limit {
                        Limits::of(self.manager.all_metrics()).reached(limit);
                    }
                    Some(Failure { reason: fault.reason.clone(), is_retried: false })
                }
            };
            let hash = work.content.hash.clone().filter(|_| work.content.manifests.is_ok());
            verdicts.push((work.reference.clone(), Verdict { hash, failure }));
        }
        verdicts
    }

    /// Records the outcome in the binding. Other sets may have written it in the meantime, so it is read again.
    async fn record(
        &self,
        observed: &Observed,
        cluster: &NamespacedName,
        outcome: &[(ResourceReference, Verdict)],
    ) -> Result<()> {
        let Some(binding) = self.bindings.get(cluster) else { return Ok(()) };
        let now = self.manager.clock().now();
        let wanted = record::with(&binding, &observed.set, outcome, now);
        unless_gone(self.bindings.patch_unchanged(&binding, &wanted).await)
    }
}
