//! The manifests of `up`, applied to a running server: changes of others are found, and kubectl can continue.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;
use std::time::Duration;

use firstlight::manifests::apply::{apply_all, check_all};
use firstlight::manifests::read::read_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinery::clock::Clock;
use schemas::cluster::MachineDeployment;
use serde_json::{Value, json};

use crate::place::Place;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn manifest(replicas: usize) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\nmetadata: {{name: workers}}\nspec:\n  clusterName: first\n  \
         replicas: {replicas}\n  template:\n    spec:\n      clusterName: first\n      bootstrap: {{dataSecretName: x}}\n      \
         infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: workers}}\n"
    )
}

/// Applies the manifest with this number of replicas; returns the changes of others that this undoes, and the outcome.
async fn apply(place: &Place, client: &Client, replicas: usize) -> (Vec<String>, &'static str) {
    let file = place.folder.path().join("workers.yaml");
    std::fs::write(&file, manifest(replicas)).unwrap();
    let documents = read_all(&[file]).unwrap();
    let registry = &place.process.plane.registry;
    let undone = check_all(registry, client, &documents).await.unwrap();
    let undone =
        undone.iter().map(|undone| undone.to_string().rsplit_once("workers.yaml").unwrap().1.to_owned());
    let applied = apply_all(registry, client, &documents).await.unwrap();
    (undone.collect(), applied[0].outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_others_are_found_and_own_changes_are_not() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let deployments: Api<MachineDeployment> = Api::namespaced(client.clone(), "default");
    let none: Vec<String> = Vec::new();
    assert_eq!(apply(&place, &client, 3).await, (none.clone(), "created"));
    assert_eq!(apply(&place, &client, 3).await, (none.clone(), "unchanged"));
    assert_eq!(
        apply(&place, &client, 4).await,
        (none.clone(), "configured"),
        "nobody else has set the field"
    );
    let autoscaler = PatchParams { field_manager: Some("autoscaler".into()), ..Default::default() };
    let scale = async |replicas: usize| {
        let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        deployments.patch_scale("workers", &autoscaler, &scale).await.unwrap();
    };
    scale(5).await;
    assert_eq!(apply(&place, &client, 5).await.0, none, "the manifest has the same value");
    scale(6).await;
    let (undone, outcome) = apply(&place, &client, 5).await;
    assert_eq!(outcome, "configured");
    let [undone] = undone.as_slice() else { panic!("{undone:?}") };
    let expected = ":6: machinedeployment.cluster.x-k8s.io/workers: spec.replicas: 6 → 5 (set by \"autoscaler\" with subresource \"scale\"";
    assert!(undone.starts_with(expected), "{undone}");
    place.process.stop().await;
}

/// The server sorts the managers of fields by the seconds of their writes.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_manifest_later_changes_nothing() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    assert_eq!(apply(&place, &client, 3).await.1, "created");
    let (clock, applied) = (Clock::system(), Clock::system().now());
    while clock.now().timestamp() <= applied.timestamp() + 1 {
        clock.sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(apply(&place, &client, 3).await, (Vec::new(), "unchanged"));
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_admission_sets_is_nobodys_change() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let deployments: Api<MachineDeployment> = Api::namespaced(client.clone(), "default");
    // The selector is one value, to which admission adds the label of the cluster.
    let selector = "  selector: {matchLabels: {pool: a}}\n  template:\n    metadata: {labels: {pool: a}}\n";
    let text = manifest(3).replace("  template:\n", selector);
    let parameters =
        PostParams { field_manager: Some("kubectl-client-side-apply".into()), ..Default::default() };
    deployments.create(&parameters, &serde_saphyr::from_str(&text).unwrap()).await.unwrap();
    let file = place.folder.path().join("selector.yaml");
    std::fs::write(&file, &text).unwrap();
    let check = async || {
        let documents = read_all(std::slice::from_ref(&file)).unwrap();
        check_all(&place.process.plane.registry, &client, &documents).await.unwrap()
    };
    assert_eq!(check().await, []);
    std::fs::write(&file, text.replace("pool: a", "pool: b")).unwrap();
    let undone: Vec<String> = check().await.into_iter().map(|undone| undone.field).collect();
    assert_eq!(undone, ["spec.selector", "spec.template.metadata.labels.pool"], "these the user has changed");
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_its_class_is_refused_before_anything_is_applied() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let file = place.folder.path().join("cluster.yaml");
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: blue}\nspec:\n  topology:\n    classRef: {name: standard}\n    version: v1.35.0\n";
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    std::fs::write(&file, format!("{cluster}{map}")).unwrap();
    let registry = &place.process.plane.registry;
    let documents = read_all(std::slice::from_ref(&file)).unwrap();
    let refused = check_all(registry, &client, &documents).await.unwrap_err().to_string();
    let expected = "cluster.yaml:6: cluster.cluster.x-k8s.io/blue: spec.topology.classRef: the ClusterClass default/standard does not exist; add it to the manifests, or apply it first";
    assert!(refused.ends_with(expected), "{refused}");
    let class = "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: standard}\nspec:\n  infrastructure:\n    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevClusterTemplate, name: x}\n  controlPlane:\n    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: x}\n";
    std::fs::write(&file, format!("{cluster}{class}")).unwrap();
    let documents = read_all(&[file]).unwrap();
    check_all(registry, &client, &documents).await.unwrap();
    apply_all(registry, &client, &documents).await.unwrap();
    check_all(registry, &client, &documents).await.unwrap();
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_a_namespace_of_the_manifests_are_found_once_it_exists() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let file = place.folder.path().join("team.yaml");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: team}\ndata: {a: one}\n";
    std::fs::write(&file, format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: team}}\n---\n{map}"))
        .unwrap();
    let documents = read_all(&[file]).unwrap();
    let registry = &place.process.plane.registry;
    assert_eq!(check_all(registry, &client, &documents).await.unwrap(), []);
    apply_all(registry, &client, &documents).await.unwrap();
    assert_eq!(check_all(registry, &client, &documents).await.unwrap(), []);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "team");
    let other = PatchParams { field_manager: Some("other".into()), ..Default::default() };
    maps.patch("x", &other, &Patch::Merge(json!({"data": {"a": "two"}}))).await.unwrap();
    let undone = check_all(registry, &client, &documents).await.unwrap();
    assert_eq!(undone.len(), 1, "{undone:?}");
    assert!(undone[0].to_string().ends_with("data.a: two → one (set by \"other\")"), "{}", undone[0]);
    place.process.stop().await;
}

/// A Cluster can be in a file before its class, and get another class that is new.
#[tokio::test(flavor = "multi_thread")]
async fn a_class_comes_before_its_clusters() {
    let place = Place::start("none", &[]).await;
    let (client, registry) = (place.process.plane.client("test"), &place.process.plane.registry);
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/clusterclass"));
    let files = ["cluster.yaml", "class.yaml"].map(|name| examples.join(name));

    let alone = read_all(&files[..1]).unwrap();
    let error = apply_all(registry, &client, &alone).await.unwrap_err().to_string();
    assert!(error.ends_with(": ClusterClass default/standard does not exist"), "{error}");
    let documents = read_all(&files).unwrap();
    assert_eq!(check_all(registry, &client, &documents).await.unwrap(), []);
    apply_all(registry, &client, &documents).await.unwrap();

    let [cluster, class] = files.map(|file| std::fs::read_to_string(file).unwrap());
    let (_, class) = class.rsplit_once("---\n").unwrap();
    let class = class.replacen("  name: standard\n", "  name: other\n", 1);
    let others = place.folder.path().join("others.yaml");
    std::fs::write(&others, format!("{}---\n{class}", cluster.replace("name: standard", "name: other")))
        .unwrap();
    let documents = read_all(&[others]).unwrap();
    assert_eq!(check_all(registry, &client, &documents).await.unwrap(), []);
    let applied = apply_all(registry, &client, &documents).await.unwrap();
    let applied: Vec<_> = applied.iter().map(|applied| (applied.what.as_str(), applied.outcome)).collect();
    let expected =
        [("clusterclass.cluster.x-k8s.io/other", "created"), ("cluster.cluster.x-k8s.io/blue", "configured")];
    assert_eq!(applied, expected);
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_can_continue() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let deployments: Api<MachineDeployment> = Api::namespaced(client.clone(), "default");
    apply(&place, &client, 3).await;
    let last_applied = async || {
        let found = deployments.get("workers").await.unwrap();
        let text = found.metadata.annotations.unwrap()[ANNOTATION].clone();
        serde_json::from_str::<Value>(&text).unwrap()["spec"]["replicas"].clone()
    };
    assert_eq!(last_applied().await, 3);
    apply(&place, &client, 4).await;
    assert_eq!(last_applied().await, 4, "client-side apply finds the fields that a newer manifest has not");
    let mut object: Value = serde_saphyr::from_str(&manifest(7)).unwrap();
    object["metadata"]["labels"] = json!({"a": "b"});
    // Without force, as `kubectl apply --server-side`.
    let kubectl = PatchParams { field_manager: Some("kubectl".into()), ..Default::default() };
    deployments.patch("workers", &kubectl, &Patch::Apply(&object)).await.unwrap();
    assert_eq!(last_applied().await, 7, "the annotation stays");
    place.process.stop().await;
}
