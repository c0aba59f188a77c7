//! Carries out the plan of a Machine.

use engine::{Action, Error, ExternalObject, NamespacedName, Outcome, Result, Workload};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::EvictParams;
use schemas::cluster::Machine;

use super::drain;
use super::observe::MachineController;
use super::observed::Observed;
use super::plan::Plan;
use crate::change::apply_external;

impl MachineController {
    /// Carries out the steps of the plan. A failed step does not prevent the steps after it.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<Machine> {
        let mut errors: Vec<Error> = plan.errors.into_iter().map(Error::Failed).collect();
        let mut action = plan.action;
        errors.extend(apply_external(&self.external, &plan.external).await);
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        if let Ok(workload) = self.manager.clusters().get(&cluster) {
            if let (Some(node), Some(wanted)) = (observed.node.found(), &plan.node) {
                errors.extend(workload.objects::<Node>().patch(node, wanted, &[]).await.err());
            }
            match evict(&workload, &plan.evict).await {
                Ok(true) => {}
                Ok(false) => action = action.min(Action::requeue_after(drain::RETRY)),
                Err(error) => errors.push(error),
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
        Outcome { wanted: Some(plan.machine), errors, action }
    }

    async fn delete_external(&self, object: &ExternalObject) -> Result<()> {
        self.external.handle(object).delete(object.object.as_ref()).await
    }
}

/// Evicts Pods; returns `false` if a PodDisruptionBudget forbids one of the evictions for now.
async fn evict(workload: &Workload, pods: &[NamespacedName]) -> Result<bool> {
    let mut all = true;
    for pod in pods {
        let api = kube::Api::<Pod>::namespaced(workload.client().clone(), &pod.namespace);
        match api.evict(&pod.name, &EvictParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(kube::Error::Api(status)) if status.code == 429 => all = false,
            Err(error) => return Err(Error::api(format!("evict Pod {pod}"), error)),
        }
    }
    Ok(all)
}
