//! Deployments and ReplicaSets, by the rules that the Pods of providers have, too.

use engine::object::{is_deleting, uid};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::ResourceExt;
use serde_json::json;
use workloads::deployment::plan::{self, REVISION};
use workloads::replica_set;

use super::key::{Key, Kind, Outcome};
use super::objects::Objects;
use super::view::View;

/// Reconciles a Deployment.
pub(super) async fn deployment(objects: &Objects, key: &Key) -> Outcome {
    let Some(deployment) = objects.get::<Deployment>(key) else { return Ok(None) };
    if is_deleting(&deployment) {
        return Ok(None);
    }
    let sets = objects.owned::<ReplicaSet>(Kind::ReplicaSet.resource(), &key.namespace, uid(&deployment));
    let plan = plan::plan(&deployment, &sets, objects.now());
    if let Some(set) = &plan.create {
        objects.create(set).await?;
    }
    let set_key = |set: &ReplicaSet| Key { kind: Kind::ReplicaSet, name: set.name_any(), ..key.clone() };
    for (set, replicas) in &plan.scale {
        let patch = json!({"metadata": {"uid": set.uid()}, "spec": {"replicas": replicas}});
        objects.api.merge(set_key(set).place(), patch).await?;
    }
    for set in &plan.delete {
        objects.api.delete(set_key(set).place()).await?;
    }
    if deployment.annotations().get(REVISION) != Some(&plan.revision) {
        let patch = json!({"metadata": {"annotations": {REVISION: plan.revision}}});
        objects.api.merge(key.place(), patch).await?;
    }
    objects.write_status(key, &deployment.status, &plan.status).await?;
    Ok(plan.action.requeue_after)
}

/// Reconciles a ReplicaSet.
pub(super) async fn replica_set(objects: &Objects, view: &View, key: &Key) -> Outcome {
    let Some(set) = objects.get::<ReplicaSet>(key) else { return Ok(None) };
    if is_deleting(&set) {
        return Ok(None);
    }
    let plan = replica_set::plan::plan(&set, &view.pods_of(uid(&set)), objects.now());
    let template = set.spec.template.clone().unwrap_or_default();
    for _ in 0..plan.create {
        let name = format!("{}-{}", key.name, objects.random.name_suffix());
        objects.create(&workloads::pods::pod(&set, &template, name)).await?;
    }
    for pod in &plan.delete {
        objects.delete_pod(pod).await?;
    }
    objects.write_status(key, &set.status, &plan.status).await?;
    Ok(plan.action.requeue_after)
}
