//! Tests of kinds that a feature gate disables, with a running server.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use serde_json::{Value, json};

use crate::place::Place;

/// Creates one object of each kind behind a gate, and returns the refused ones with the messages.
async fn refused(gates: &[&str]) -> Vec<(String, String)> {
    let place = Place::start("none", gates).await;
    let client = place.process.plane.client("test");
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
    place.process.stop().await;
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

/// The `Warning` headers of the answer to a creation beside `controllers`.
async fn warnings(controllers: &str, kind: &str, plural: &str, spec: Value) -> Vec<String> {
    let (prefix, version) = match kind {
        "Pod" => ("api", "v1"),
        _ => ("apis", "cluster.x-k8s.io/v1beta2"),
    };
    let place = Place::start(controllers, &[]).await;
    let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec});
    let request = http::Request::post(format!("/{prefix}/{version}/namespaces/default/{plural}"))
        .header("content-type", "application/json")
        .body(kube::client::Body::from(object.to_string().into_bytes()))
        .unwrap();
    let answer = place.process.plane.client("test").send(request).await.unwrap();
    assert_eq!(answer.status(), 201, "{kind}");
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.map(|text| text.to_str().unwrap().to_owned()).collect();
    place.process.stop().await;
    warnings
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_nothing_acts_on_is_created_with_a_warning() {
    let none: [&str; 0] = [];
    let rule = json!({"drain": {"behavior": "Skip"}});
    assert_eq!(warnings("core", "MachineDrainRule", "machinedrainrules", rule).await, none);
    let check = json!({"clusterName": "x", "selector": {"matchLabels": {"a": "b"}}});
    assert_eq!(warnings("core", "MachineHealthCheck", "machinehealthchecks", check).await, none);
    let reference = |group: &str, kind: &str| json!({"apiGroup": format!("{group}.cluster.x-k8s.io"), "kind": kind, "name": "x"});
    let cluster = json!({"infrastructureRef": reference("infrastructure", "DevCluster"), "controlPlaneRef": reference("controlplane", "KubeadmControlPlane")});
    assert_eq!(warnings("core", "Cluster", "clusters", cluster).await, none);
    let pod = || json!({"containers": [{"name": "x", "image": "x"}]});
    let expected = "299 - \"no Pod runs on this server: the Pod is only stored\"";
    assert_eq!(warnings("core", "Pod", "pods", pod()).await, [expected]);
    assert_eq!(warnings("none", "Pod", "pods", pod()).await, none);
    let expected = "299 - \"this server runs the Pods of providers only, in Namespaces with the label cluster.x-k8s.io/provider: the Pod is only stored\"";
    assert_eq!(warnings("all", "Pod", "pods", pod()).await, [expected]);
}
