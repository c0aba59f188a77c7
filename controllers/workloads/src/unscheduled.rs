//! Pods that nothing runs: their condition `PodScheduled` says why, where a scheduler would say that no Node fits.

use engine::names::PROVIDER;
use engine::object::is_deleting;
use engine::{Action, Controller, Descriptor, Manager, Objects, Reconciler, Request, Result};
use k8s_openapi::api::core::v1::{Namespace, Pod, PodCondition};
use machinery::clock::Clock;
use serde_json::json;

use crate::namespaces::{is_within, of_namespace};

/// The descriptor of the controller. Of a Pod, it writes nothing but one condition.
pub const CONTROLLER: Descriptor =
    Descriptor { name: "unscheduledpod", reconciles: &[], start: |manager, ()| start(manager) };

/// The condition, and the reason that a scheduler gives.
const SCHEDULED: &str = "PodScheduled";
const REASON: &str = "Unschedulable";

struct Unscheduled {
    pods: Objects<Pod>,
    namespaces: Objects<Namespace>,
    clock: Clock,
}

fn start(manager: &Manager) {
    let this = Unscheduled {
        pods: manager.objects(),
        namespaces: manager.objects(),
        clock: manager.clock().clone(),
    };
    let pods = this.pods.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.pods)
        .watches(&this.namespaces, move |change| of_namespace(&pods, change))
        .start(this);
}

impl Reconciler for Unscheduled {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(pod) = self.pods.get(&request) else { return Ok(Action::done()) };
        if is_within(&self.namespaces, &request.namespace) || !is_waiting(&pod) {
            return Ok(Action::done());
        }
        let status = pod.status.clone().unwrap_or_default();
        let condition = PodCondition {
            type_: SCHEDULED.to_owned(),
            status: "False".to_owned(),
            reason: Some(REASON.to_owned()),
            message: Some(message(&request.namespace)),
            last_transition_time: Some(engine::time::time(self.clock.now())),
            ..PodCondition::default()
        };
        let conditions: Vec<PodCondition> =
            status.conditions.into_iter().flatten().chain([condition]).collect();
        // The list replaces the one on the server: a condition that came there meanwhile must be in it.
        let patch = json!({"metadata": {"resourceVersion": pod.metadata.resource_version}, "status": {"conditions": conditions}});
        self.pods.merge(&request, Some("status"), patch).await?;
        Ok(Action::done())
    }
}

/// Returns whether a Pod waits for a scheduler, and nobody has said yet why.
fn is_waiting(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let has_node =
        pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).is_some_and(|node| !node.is_empty());
    let has_ended = status.and_then(|status| status.phase.as_deref());
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let mut known = conditions.filter(|condition| condition.type_ == SCHEDULED);
    !is_deleting(pod)
        && !has_node
        && !matches!(has_ended, Some("Succeeded" | "Failed"))
        && known.next().is_none()
}

fn message(namespace: &str) -> String {
    format!(
        "this server has no Nodes and runs the Pods of providers only: those of Namespaces with the label {PROVIDER}, which {namespace} \
         does not have"
    )
}
