//! The provider `garden`: its files, and its objects.

use serde_json::{Value, json};
use test_plane::Fixture;

use super::read;

pub const NAME: &str = "garden";
pub const TOKEN: &str = "moss-and-fern";

const COMPONENTS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gardenclusters.infrastructure.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta1: v1}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {plural: gardenclusters, singular: gardencluster, kind: GardenCluster, listKind: GardenClusterList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: default-garden-role}
rules: [{apiGroups: [infrastructure.cluster.x-k8s.io], resources: [gardenclusters], verbs: [get, list, watch]}]
---
apiVersion: v1
kind: Secret
metadata: {name: garden-credentials, namespace: garden-system}
type: Opaque
stringData: {token: "${GARDEN_TOKEN}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: garden-controller-manager, namespace: garden-system}
spec:
  replicas: 1
  selector: {matchLabels: {app: garden}}
  template:
    metadata: {labels: {app: garden}}
    spec:
      containers: [{name: manager, image: "registry.example/garden:VERSION", args: ["--v=0"]}]
"#;

/// The components of a version.
pub fn components(version: &str) -> String {
    COMPONENTS.replace("VERSION", version)
}

pub fn metadata() -> String {
    let series = [(0, 2, "v1alpha4"), (0, 3, "v1beta1"), (0, 4, "v1beta2"), (0, 5, "v1beta2")];
    let series: Vec<Value> = series
        .iter()
        .map(|(major, minor, contract)| json!({"major": major, "minor": minor, "contract": contract}))
        .collect();
    let api = "clusterctl.cluster.x-k8s.io/v1alpha3";
    json!({"apiVersion": api, "kind": "Metadata", "releaseSeries": series}).to_string()
}

/// The address of the components of a version on a web server.
pub fn address(version: &str) -> String {
    format!("https://files.example/garden/{version}/infrastructure-components.yaml")
}

/// The file of a version at an address of the web server.
pub fn file(url: &str, version: &str) -> Option<String> {
    let components = address(version);
    let folder = components.trim_end_matches("infrastructure-components.yaml");
    match url.strip_prefix(folder)? {
        "metadata.yaml" => Some(metadata()),
        "infrastructure-components.yaml" => Some(self::components(version)),
        _ => None,
    }
}

/// Creates the ConfigMap with the files of a version.
pub async fn publish(fixture: &Fixture, version: &str) {
    publish_with(fixture, version, &components(version)).await;
}

pub async fn publish_with(fixture: &Fixture, version: &str, components: &str) {
    fixture
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": version, "labels": {"files": NAME}},
            "data": {"metadata": metadata(), "components": components},
        }))
        .await;
}

/// Creates the Secret with the variables.
pub async fn variables(fixture: &Fixture) {
    let data = json!({"GARDEN_TOKEN": TOKEN});
    let metadata = json!({"name": "variables"});
    fixture
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}))
        .await;
}

/// What the object wants, with more fields.
pub fn spec(version: Option<&str>, more: Value) -> Value {
    let mut spec = json!({
        "fetchConfig": {"selector": {"matchLabels": {"files": NAME}}},
        "configSecret": {"name": "variables"},
    });
    if let Some(version) = version {
        spec["version"] = version.into();
    }
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec
}

/// Creates the object that declares the provider.
pub async fn declare(fixture: &Fixture, version: Option<&str>, more: Value) {
    declare_in(fixture, "default", version, more).await;
}

pub async fn declare_in(fixture: &Fixture, namespace: &str, version: Option<&str>, more: Value) {
    fixture
        .create(json!({
            "apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
            "metadata": {"name": NAME, "namespace": namespace}, "spec": spec(version, more),
        }))
        .await;
}

pub async fn deployment(fixture: &Fixture) -> Option<Value> {
    read(fixture, "/apis/apps/v1/namespaces/default/deployments/garden-controller-manager").await
}

/// Everything that is installed, without what differs between two installations.
pub async fn installed(fixture: &Fixture) -> Value {
    let part = async |path: &str, field: &str| {
        read(fixture, path).await.map(|object| {
            json!([object["metadata"]["labels"], object["metadata"]["ownerReferences"], object[field]])
        })
    };
    json!([
        part("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gardenclusters.infrastructure.cluster.x-k8s.io", "spec").await,
        part("/apis/rbac.authorization.k8s.io/v1/clusterroles/default-garden-role", "rules").await,
        part("/api/v1/namespaces/default/secrets/garden-credentials", "data").await,
        part("/apis/apps/v1/namespaces/default/deployments/garden-controller-manager", "spec").await,
        part("/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/default/providers/infrastructure-garden", "version").await,
    ])
}
