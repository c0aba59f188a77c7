//! A management cluster with the controllers of this crate, and workload clusters in the same process, on a paused clock.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

pub mod workload;

use engine::{Kind, Manager, NamespacedName};
use schemas::HasConditions;
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding, ResourceBinding};
use schemas::cluster::Cluster;
use serde_json::{Value, json};
use test_plane::Fixture;
use workload::Workload;

const GROUPS: &[&str] = &["cluster.x-k8s.io", "addons.cluster.x-k8s.io"];

fn start(manager: &Manager) {
    workload::listen_again(manager);
    addons::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Starts a server without Clusters.
pub async fn fixture() -> Fixture {
    workload::forget_all();
    Fixture::new(GROUPS, start).await
}

/// Creates a Cluster with a workload cluster, and the labels that sets select.
pub async fn cluster(fixture: &Fixture, name: &str) -> Workload {
    let workload = Workload::start(&fixture.manager, name).await;
    let kubeconfig = json!({"value": workload.kubeconfig});
    let metadata = json!({"name": format!("{name}-kubeconfig")});
    fixture
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": kubeconfig}))
        .await;
    fixture
        .create(json!({
            "apiVersion": Cluster::API_VERSION, "kind": "Cluster",
            "metadata": {"name": name, "labels": {"addons": "yes"}},
            "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name}},
            "status": {"initialization": {"infrastructureProvisioned": true}},
        }))
        .await;
    workload
}

/// Creates a set `set` of these resources, each `Kind/name`.
pub async fn set(fixture: &Fixture, strategy: &str, resources: &[&str]) {
    let resources: Vec<Value> = resources
        .iter()
        .map(|resource| resource.split_once('/').unwrap())
        .map(|(kind, name)| json!({"kind": kind, "name": name}))
        .collect();
    fixture
        .create(json!({
            "apiVersion": ClusterResourceSet::API_VERSION, "kind": "ClusterResourceSet", "metadata": {"name": "set"},
            "spec": {"strategy": strategy, "clusterSelector": {"matchLabels": {"addons": "yes"}}, "resources": resources},
        }))
        .await;
}

/// Creates a ConfigMap with the manifests in the value `k`.
pub async fn config_map(fixture: &Fixture, name: &str, manifests: &str) {
    fixture
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": manifests}}))
        .await;
}

/// Creates a Secret with the manifests in the value `k`.
pub async fn secret(fixture: &Fixture, name: &str, kind: &str, manifests: &str) {
    let data = json!({"k": manifests});
    fixture
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "stringData": data}))
        .await;
}

/// Returns the manifest of a ConfigMap with the value `v`.
pub fn manifest(name: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{v: \"{value}\"}}\n"
    )
}

/// Returns status, reason and message of the condition of the set.
pub fn said(manager: &Manager) -> (String, String, String) {
    let set = test_plane::get::<ClusterResourceSet>(manager, "set");
    let condition = set.and_then(|set| set.condition("ResourcesApplied").cloned()).unwrap_or_default();
    (condition.status, condition.reason, condition.message)
}

pub fn is_applied(manager: &Manager) -> bool {
    said(manager).0 == "True"
}

/// Returns what the binding of a Cluster records of a resource of the set.
pub fn recorded(manager: &Manager, cluster: &str, resource: &str) -> Option<ResourceBinding> {
    let binding = test_plane::get::<ClusterResourceSetBinding>(manager, cluster)?;
    let entry = binding.spec.bindings.iter().find(|entry| entry.cluster_resource_set_name == "set")?.clone();
    entry.resources.into_iter().find(|entry| entry.name == resource)
}

/// Returns the names of the owners of an object.
pub fn owners<K: Kind<DynamicType = ()>>(manager: &Manager, name: &str) -> Vec<String> {
    let object = manager.objects::<K>().get(&NamespacedName::new("default", name)).unwrap();
    object.meta().owner_references.iter().flatten().map(|owner| owner.name.clone()).collect()
}
