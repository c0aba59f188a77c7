//! Carries out the plan of a Machine.

use std::time::Duration;

use engine::{Action, Error, ExternalObject, NamespacedName, Outcome, Result, Workload};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, EvictParams, Preconditions};
use schemas::cluster::Machine;

use super::changes::Plan;
use super::drain::{self, Eviction};
use super::observe::MachineController;
use super::observed::{LastEviction, Observed, OnDemand};
use crate::change::apply_external;

impl MachineController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<Machine> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        let mut action = plan.action;
        if plan.completes_update
            && let Err(error) = self.unmark(observed).await
        {
            return Outcome::failed(error);
        }
        errors.extend(apply_external(&self.external, &plan.external).await);
        if plan.update {
            errors.extend(self.update(observed).await.err());
            // The next plan reports the answer.
            action = Action::requeue_after(Duration::ZERO);
        }
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        if let Ok(workload) = self.manager.clusters().get(&cluster) {
            let mut is_cordoned = true;
            if let (Some(node), Some(wanted)) = (observed.node.found(), &plan.node) {
                let failed = workload.objects::<Node>().patch(node, wanted, &[]).await.err();
                is_cordoned = failed.is_none();
                errors.extend(failed);
            }
            if is_cordoned && !plan.evict.is_empty() {
                self.evict(observed, &workload, &plan.evict).await;
                // The next plan reports the outcomes.
                action = Action::requeue_after(Duration::ZERO);
            }
            if let (Some(node), true) = (observed.node.found(), plan.delete_node) {
                errors.extend(workload.objects::<Node>().delete(node.as_ref()).await.err());
            }
        }
        for object in &plan.delete {
            errors.extend(self.delete_external(object).await.err());
        }
        if plan.delete_node {
            let machine = NamespacedName::of(observed.machine.as_ref());
            self.node_deletions.lock().entry(machine).or_insert(observed.now);
        }
        for event in plan.events {
            event.record(&self.recorder, observed.machine.as_ref());
        }
        let mut outcome = Outcome { wanted: Some(plan.machine), errors, action };
        if plan.completes_update {
            self.end_update(observed, &mut outcome);
        }
        outcome
    }

    async fn delete_external(&self, object: &ExternalObject) -> Result<()> {
        self.external.handle(object).delete(object.object.as_ref()).await
    }

    /// Evicts Pods within [`drain::EVICTION_LIMIT`], and records the outcomes. One that fails does not prevent
    /// the others, and those that are not tried in time are the first of the next plan.
    async fn evict(&self, observed: &Observed, workload: &Workload, evictions: &[Eviction]) {
        let clock = self.manager.clock();
        let end = clock.monotonic() + drain::EVICTION_LIMIT;
        let mut outcomes = observed.evictions.clone();
        let is_here = |pod: &NamespacedName| {
            let OnDemand::Found(on_node) = &observed.pods else { return false };
            on_node.pods.iter().any(|found| NamespacedName::of(found.as_ref()) == *pod)
        };
        outcomes.retain(|pod, _| is_here(pod));
        for eviction in evictions.iter().take_while(|_| clock.monotonic() < end) {
            let Eviction { pod, warnings, .. } = eviction;
            tracing::debug!(machine = ?observed.machine.metadata.name, %pod, ?warnings, "evicting Pod");
            let refused = match tokio::time::timeout_at(end, evict(workload, eviction)).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(drain::refusal(&error)),
                Err(_) => Some(drain::too_late()),
            };
            outcomes.insert(pod.clone(), LastEviction { at: clock.now(), refused });
        }
        self.evictions.lock().insert(NamespacedName::of(observed.machine.as_ref()), outcomes);
    }
}

/// Evicts a Pod. One that does not exist any more is not an error.
async fn evict(workload: &Workload, eviction: &Eviction) -> Result<(), kube::Error> {
    let api = kube::Api::<Pod>::namespaced(workload.client().clone(), &eviction.pod.namespace);
    let uid = Some(eviction.uid.clone()).filter(|uid| !uid.is_empty());
    let options = DeleteParams {
        grace_period_seconds: eviction.grace,
        preconditions: uid.map(|uid| Preconditions { uid: Some(uid), ..Preconditions::default() }),
        ..DeleteParams::default()
    };
    let parameters = EvictParams { delete_options: Some(options), ..EvictParams::default() };
    match api.evict(&eviction.pod.name, &parameters).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
    }
}
