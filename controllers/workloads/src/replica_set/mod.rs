//! The ReplicaSet controller: as many Pods as wanted.

pub mod plan;

use engine::object::{is_deleting, uid};
use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, Objects, Reconciler, Request, Result,
};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use machinery::clock::Clock;
use machinery::random::Random;
use serde_json::json;

use crate::namespaces::{is_within, of_namespace};
use crate::pods::pod;
use crate::stored::is_stored;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "replicaset",
    reconciles: &[GroupKind::new("apps", "ReplicaSet")],
    start: |manager, ()| start(manager),
};

struct ReplicaSets {
    sets: Objects<ReplicaSet>,
    pods: Objects<Pod>,
    namespaces: Objects<Namespace>,
    clock: Clock,
    random: Random,
}

fn start(manager: &Manager) {
    let this = ReplicaSets {
        sets: manager.objects(),
        pods: manager.objects(),
        namespaces: manager.objects(),
        clock: manager.clock().clone(),
        random: manager.random().clone(),
    };
    let sets = this.sets.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.sets)
        .owns(&this.pods, "apps", "ReplicaSet")
        .watches(&this.namespaces, move |change| of_namespace(&sets, change))
        .start(this);
}

impl Reconciler for ReplicaSets {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(set) = self.sets.get(&request) else { return Ok(Action::done()) };
        if is_deleting(set.as_ref()) || !is_within(&self.namespaces, &request.namespace) {
            return Ok(Action::done());
        }
        let pods = self.pods.cache().by_owner(uid(set.as_ref()));
        let now = self.clock.now();
        let plan = plan::plan(&set, &pods, now);
        // The event of a deleted Pod can arrive before that of its deleted set.
        if plan.create > 0 && !is_stored(&self.sets, set.as_ref()).await? {
            return Ok(Action::done());
        }
        let mut errors = Vec::new();
        let template = set.spec.template.clone().unwrap_or_default();
        for _ in 0..plan.create {
            let pod = pod(set.as_ref(), &template, format!("{}-{}", request.name, self.random.name_suffix()));
            errors.extend(self.pods.create(&pod).await.err());
        }
        for pod in &plan.delete {
            errors.extend(self.pods.delete(pod.as_ref()).await.err());
        }
        if set.status.as_ref() != Some(&plan.status) {
            errors.extend(
                self.sets.merge(&request, Some("status"), json!({"status": plan.status})).await.err(),
            );
        }
        Error::aggregate(errors).map(|()| plan.action)
    }
}
