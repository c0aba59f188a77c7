//! The Deployment controller: a ReplicaSet for each template, and the rollout from one to the next.

pub mod plan;
pub mod rollout;
mod status;

use engine::object::{is_deleting, uid};
use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, Objects, Reconciler, Request, Result,
};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use machinery::clock::Clock;
use serde_json::json;

use crate::namespaces::{is_within, of_namespace};
use crate::stored::is_stored;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "deployment",
    reconciles: &[GroupKind::new("apps", "Deployment")],
    start: |manager, ()| start(manager),
};

struct Deployments {
    deployments: Objects<Deployment>,
    sets: Objects<ReplicaSet>,
    namespaces: Objects<Namespace>,
    clock: Clock,
}

fn start(manager: &Manager) {
    let this = Deployments {
        deployments: manager.objects(),
        sets: manager.objects(),
        namespaces: manager.objects(),
        clock: manager.clock().clone(),
    };
    let deployments = this.deployments.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.deployments)
        .owns(&this.sets, "apps", "Deployment")
        .watches(&this.namespaces, move |change| of_namespace(&deployments, change))
        .start(this);
}

impl Reconciler for Deployments {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(deployment) = self.deployments.get(&request) else { return Ok(Action::done()) };
        if is_deleting(deployment.as_ref()) || !is_within(&self.namespaces, &request.namespace) {
            return Ok(Action::done());
        }
        let sets = self.sets.cache().by_owner(uid(deployment.as_ref()));
        let plan = plan::plan(&deployment, &sets, self.clock.now());
        let mut errors = Vec::new();
        if let Some(set) = &plan.create {
            // The event of a deleted ReplicaSet can arrive before that of its deleted Deployment.
            if !is_stored(&self.deployments, deployment.as_ref()).await? {
                return Ok(Action::done());
            }
            errors.extend(self.sets.create(set).await.err());
        }
        for (set, replicas) in &plan.scale {
            let patch = json!({"metadata": {"uid": set.uid()}, "spec": {"replicas": replicas}});
            errors.extend(self.sets.merge(&Request::of(set.as_ref()), None, patch).await.err());
        }
        for set in &plan.delete {
            errors.extend(self.sets.delete(set.as_ref()).await.err());
        }
        let mut wanted = deployment.as_ref().clone();
        wanted.annotations_mut().insert(plan::REVISION.to_owned(), plan.revision);
        wanted.status = Some(plan.status);
        errors.extend(self.deployments.patch(&deployment, &wanted, &[]).await.err());
        Error::aggregate(errors).map(|()| plan.action)
    }
}
