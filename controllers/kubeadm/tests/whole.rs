//! The whole controller against an API server, with simulated machines: unhealthy Machines are replaced, orphans are adopted, what somebody
//! changes comes back, what fails is in a condition.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use engine::object::{annotation, is_deleting, uid};
use engine::{Manager, NamespacedName, owners};
use k8s_openapi::api::core::v1::Secret;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::{Value, json};
use test_plane::{Fixture, get};

pub const GROUPS: &[&str] = &[
    "cluster.x-k8s.io",
    "bootstrap.cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
];
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
const IN_PROGRESS: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
const FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

pub fn start(manager: &Manager) {
    cluster_core::start(manager);
    kubeadm::start(manager);
    let backend = simulated::Backend::new(manager, "127.0.0.1");
    simulated::PROVIDERS.iter().for_each(|provider| provider.start(manager, &backend));
}

pub fn metadata(name: &str) -> Value {
    json!({"name": name, "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "c"}})
}

pub fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({"apiGroup": format!("{group}.cluster.x-k8s.io"), "kind": kind, "name": name})
}

/// Creates a cluster that has only a control plane.
pub async fn create(fixture: &Fixture, replicas: i32) {
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let backend = json!({"backend": {"inMemory": {}}});
    let objects = [
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("c"), "spec": {
            "infrastructureRef": reference("infrastructure", "DevCluster", "c"),
            "controlPlaneRef": reference("controlplane", "KubeadmControlPlane", "cp"),
        }}),
        json!({"apiVersion": infrastructure, "kind": "DevCluster", "metadata": metadata("c"), "spec": backend}),
        json!({"apiVersion": infrastructure, "kind": "DevMachineTemplate", "metadata": metadata("cp"),
            "spec": {"template": {"spec": backend}}}),
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": metadata("cp"),
            "spec": {"replicas": replicas, "version": "v1.35.0",
                "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["localhost"]}}},
                "machineTemplate": {"spec": {"infrastructureRef": reference("infrastructure", "DevMachineTemplate", "cp")}}}}),
    ];
    for object in objects {
        fixture.create(object).await;
    }
}

pub fn control_plane(manager: &Manager) -> Arc<KubeadmControlPlane> {
    get(manager, "cp").unwrap_or_default()
}

pub fn machines(manager: &Manager) -> Vec<Arc<Machine>> {
    manager.objects::<Machine>().by_cluster(&NamespacedName::new("default", "c"))
}

/// Returns whether so many Machines are available, and nothing is going on.
pub fn is_settled(manager: &Manager, replicas: i32) -> bool {
    let control_plane = control_plane(manager);
    let status = control_plane.status.clone().unwrap_or_default();
    let is_idle = |type_: &str| control_plane.condition(type_).is_some_and(|found| found.status == "False");
    status.available_replicas == Some(replicas)
        && status.replicas == Some(replicas)
        && control_plane.condition_is_true("Available")
        && ["ScalingUp", "ScalingDown", "RollingOut", "Remediating"].into_iter().all(is_idle)
        && machines(manager).iter().all(|machine| !is_deleting(machine.as_ref()))
}

pub fn message(manager: &Manager, type_: &str) -> String {
    control_plane(manager).condition(type_).map(|found| found.message.clone()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_machine_that_a_health_check_marks_is_replaced() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 3).await;
    fixture.until("available", |manager| is_settled(manager, 3)).await;
    let check = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": metadata("cp"),
        "spec": {"clusterName": "c", "selector": {"matchLabels": {"cluster.x-k8s.io/control-plane": ""}},
            "checks": {"nodeStartupTimeoutSeconds": 600}},
    });
    fixture.create(check).await;
    let sick = machines(&fixture.manager).remove(0);
    let name = sick.metadata.name.clone().unwrap();
    let annotations = json!({"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}});
    fixture.patch::<Machine>(&name, annotations).await;
    fixture
        .until("replaced", |manager| get::<Machine>(manager, &name).is_none() && is_settled(manager, 3))
        .await;

    let records: Vec<String> = machines(&fixture.manager)
        .iter()
        .filter_map(|machine| annotation(machine.as_ref(), FOR).map(str::to_owned))
        .collect();
    assert_eq!(records.len(), 1, "the new Machine says for which one it is: {records:?}");
    let record: Value = serde_json::from_str(&records[0]).unwrap();
    assert_eq!((&record["machine"], &record["retryCount"]), (&json!(name), &json!(0)));
    fixture
        .until("no remediation", |manager| annotation(control_plane(manager).as_ref(), IN_PROGRESS).is_none())
        .await;
    let status = control_plane(&fixture.manager).status.clone().unwrap();
    assert_eq!(status.last_remediation.unwrap().machine, name);
    assert_eq!(message(&fixture.manager, "EtcdClusterHealthy"), "", "its member went with it");
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn machines_without_a_controller_are_adopted_and_those_of_others_are_not() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    fixture.until("available", |manager| is_settled(manager, 1)).await;
    let machine = machines(&fixture.manager).remove(0);
    let name = machine.metadata.name.clone().unwrap();
    let config: Arc<KubeadmConfig> = get(&fixture.manager, &name).unwrap();
    let owner = json!([owners::reference(config.as_ref(), &())]);
    let mut meta = metadata("more");
    meta["ownerReferences"] = owner;
    fixture.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta})).await;

    let cluster: Arc<Cluster> = get(&fixture.manager, "c").unwrap();
    let other = json!([owners::controller_reference(cluster.as_ref(), &())]);
    fixture.patch::<Machine>(&name, json!({"metadata": {"ownerReferences": other}})).await;
    let refuses = |manager: &Manager| {
        message(manager, "ScalingUp").contains("refusing to operate in mixed management mode")
    };
    fixture.until("refused", refuses).await;

    fixture.patch::<Machine>(&name, json!({"metadata": {"ownerReferences": null}})).await;
    let is_ours = |manager: &Manager| {
        let (machine, owner) = (get::<Machine>(manager, &name).unwrap(), control_plane(manager));
        owners::is_controlled_by(machine.as_ref(), uid(owner.as_ref()))
    };
    fixture.until("adopted", is_ours).await;
    fixture.until("settled", |manager| is_settled(manager, 1)).await;
    assert_eq!(machines(&fixture.manager).len(), 1);
    assert_eq!(message(&fixture.manager, "Available"), "");
    let (owner, config) = (control_plane(&fixture.manager), uid(config.as_ref()).to_owned());
    let secret = |name: &str| get::<Secret>(&fixture.manager, name).unwrap();
    assert!(owners::is_controlled_by(secret("more").as_ref(), uid(owner.as_ref())));
    assert!(!owners::is_owned_by(secret("more").as_ref(), &config));
    assert!(owners::is_owned_by(secret(&name).as_ref(), &config), "the bootstrap data stays");
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_somebody_removes_comes_back() {
    let fixture = Fixture::new(GROUPS, start).await;
    create(&fixture, 1).await;
    let is_idle = |manager: &Manager| manager.is_idle(std::time::Duration::ZERO);
    fixture.until("available", |manager| is_settled(manager, 1) && is_idle(manager)).await;
    let name = machines(&fixture.manager)[0].metadata.name.clone().unwrap();
    let has_hook =
        |manager: &Manager| annotation(get::<Machine>(manager, &name).unwrap().as_ref(), HOOK).is_some();
    let writes = |fixture: &Fixture| {
        let path = format!("PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines/{name}");
        fixture.requests.trace().iter().filter(|write| **write == path).count()
    };
    assert!(has_hook(&fixture.manager));
    let before = writes(&fixture);
    fixture.patch::<Machine>(&name, json!({"metadata": {"annotations": {HOOK: null}}})).await;
    let is_written = || writes(&fixture) > before;
    fixture.until("again", |manager| is_written() && has_hook(manager) && is_idle(manager)).await;
    assert_eq!(writes(&fixture) - before, 1);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_in_a_condition_and_not_observed() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.requests.refuse(Some("POST /api/v1/namespaces/default/secrets"));
    create(&fixture, 1).await;
    let failed = |replicas: i32| {
        format!(
            "Scaling up from 0 to {replicas} replicas is blocked because:\n* create Secret default/c-ca: the test refuses it"
        )
    };
    fixture.until("failed", |manager| message(manager, "ScalingUp") == failed(1)).await;
    fixture.patch::<KubeadmControlPlane>("cp", json!({"spec": {"replicas": 3}})).await;
    fixture.until("failed again", |manager| message(manager, "ScalingUp") == failed(3)).await;
    let observed =
        |manager: &Manager| control_plane(manager).status.clone().unwrap_or_default().observed_generation;
    // The first generation was observed while it waited for the infrastructure.
    assert_eq!(observed(&fixture.manager), Some(1), "the second was not reconciled without an error");
    fixture.requests.refuse(None);
    fixture.until("available", |manager| is_settled(manager, 3)).await;
    assert_eq!(observed(&fixture.manager), Some(2));
    fixture.manager.stop().await;
}
