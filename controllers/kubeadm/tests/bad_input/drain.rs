//! A PodDisruptionBudget that can never be met.

use std::sync::Arc;

use engine::{Manager, NamespacedName};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, Patch, PostParams};
use schemas::HasConditions;
use schemas::cluster::{Machine, MachineSet};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use super::owners::set;
use super::rests;
use crate::kubeadm::whole::{GROUPS, create, is_settled, machines, start};

/// Creates an object in the namespace `default` of the workload cluster.
async fn in_workload<K>(manager: &Manager, object: Value) -> Api<K>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned,
{
    let workload = manager.clusters().get(&NamespacedName::new("default", "c")).unwrap();
    let api = Api::<K>::namespaced(workload.client().clone(), "default");
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    api
}

fn worker(manager: &Manager) -> Option<Arc<Machine>> {
    machines(manager).into_iter().find(|machine| engine::object::label(machine.as_ref(), "pool").is_some())
}

fn deleting(machine: &Machine) -> String {
    machine.condition("Deleting").map(|found| found.message.clone()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_can_never_be_met_is_told_until_the_time_out() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.create(set("workers", ("pool", "a"), 1)).await;
    let is_up = |manager: &Manager| {
        is_settled(manager, 1)
            && worker(manager).is_some_and(|machine| machine.condition_is_true("Available"))
    };
    fixture.until("available", is_up).await;
    let machine = worker(&fixture.manager).unwrap();
    let name = machine.metadata.name.clone().unwrap();
    let node = machine.status.as_ref().unwrap().node_ref.as_ref().unwrap().name.clone();
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"nodeName": node, "containers": [{"name": "web", "image": "web"}]}});
    let pods = in_workload::<Pod>(&fixture.manager, pod).await;
    let status = Patch::Merge(json!({"status": {"phase": "Running", "conditions": ready}}));
    pods.patch_status("web", &Default::default(), &status).await.unwrap();
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 20, "selector": {"matchLabels": {"app": "web"}}}});
    in_workload::<PodDisruptionBudget>(&fixture.manager, budget).await;

    fixture.patch::<MachineSet>("workers", json!({"spec": {"replicas": 0}})).await;
    let is_told = |manager: &Manager| {
        let text = get::<Machine>(manager, &name).map(|machine| deleting(&machine)).unwrap_or_default();
        text.contains("* Pod default/web: cannot evict pod as it would violate the pod's disruption budget.")
    };
    fixture.until("the budget is told", is_told).await;
    rests(&fixture, 0).await;
    assert!(is_told(&fixture.manager), "{}", deleting(&get::<Machine>(&fixture.manager, &name).unwrap()));
    let limit = json!({"spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}});
    fixture.patch::<Machine>(&name, limit.clone()).await;
    let template = json!({"spec": {"template": {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}}}});
    fixture.patch::<MachineSet>("workers", template).await;
    fixture.until("gone after the time-out", |manager| get::<Machine>(manager, &name).is_none()).await;
    fixture.manager.stop().await;
}
