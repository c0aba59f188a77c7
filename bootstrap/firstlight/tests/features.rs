//! Tests of kinds that a feature gate disables, with a running server.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use firstlight::cli::{DirectoryOptions, ServerOptions, StoreChoice};
use firstlight::process::Process;
use serde_json::{Value, json};

/// Creates one object of each kind behind a gate, and returns the refused ones with the messages.
async fn refused(arguments: &[&str]) -> Vec<(String, String)> {
    let place = tempfile::tempdir().unwrap();
    let options = ServerOptions {
        directory: DirectoryOptions { data_dir: Some(place.path().to_owned()) },
        listen: "127.0.0.1:0".parse().unwrap(),
        advertise_address: None,
        kubeconfig: None,
        store: StoreChoice::Memory,
        quota_backend_bytes: 1 << 30,
        start_afresh: false,
        controllers: "none".parse().unwrap(),
        feature_gates: arguments.iter().map(|gates| gates.parse().unwrap()).collect(),
        netboot: Default::default(),
    };
    let process = Process::start(&options).await.unwrap();
    let client = process.plane.client("test");
    let mut refused = Vec::new();
    for (path, kind, spec) in objects() {
        let (group, plural) = path.split_once(' ').unwrap();
        let namespace = if kind == "ExtensionConfig" { "" } else { "namespaces/default/" };
        let object = json!({"apiVersion": group, "kind": kind, "metadata": {"name": "x"}, "spec": spec});
        let request = http::Request::post(format!("/apis/{group}/{namespace}{plural}"))
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        match client.request::<Value>(request).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) => refused.push((kind.to_owned(), status.message.clone())),
            Err(error) => panic!("{kind}: {error}"),
        }
    }
    process.stop().await;
    refused
}

fn objects() -> Vec<(&'static str, &'static str, Value)> {
    let template = |group: &str, kind: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": "x"}});
    vec![
        (
            "cluster.x-k8s.io/v1beta2 clusterclasses",
            "ClusterClass",
            json!({"infrastructure": template("infrastructure", "DevClusterTemplate"),
                "controlPlane": template("controlplane", "KubeadmControlPlaneTemplate")}),
        ),
        (
            "cluster.x-k8s.io/v1beta2 clusters",
            "Cluster",
            json!({"topology": {"classRef": {"name": "x"}, "version": "v1.36.0"}}),
        ),
        (
            "controlplane.cluster.x-k8s.io/v1beta2 kubeadmcontrolplanetemplates",
            "KubeadmControlPlaneTemplate",
            json!({"template": {"spec": {"kubeadmConfigSpec": {"clusterConfiguration": {"imageRepository": "mirror"}}}}}),
        ),
        (
            "runtime.cluster.x-k8s.io/v1beta2 extensionconfigs",
            "ExtensionConfig",
            json!({"clientConfig": {"url": "https://extension.test"}}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_brings_the_controllers_has_all_kinds() {
    assert_eq!(refused(&[]).await, []);
    let off = refused(&["ClusterTopology=false", "RuntimeSDK=false"]).await;
    let kinds: Vec<&str> = off.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["ClusterClass", "Cluster", "KubeadmControlPlaneTemplate", "ExtensionConfig"]);
    for (kind, message) in off {
        let gate = if kind == "ExtensionConfig" { "RuntimeSDK" } else { "ClusterTopology" };
        assert!(message.contains(&format!("--feature-gates {gate}=true")), "{kind}: {message}");
    }
}
