//! Tests of `simulated::workload::objects`.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::{Value, json};
use simulated::workload::objects::etcd_image;

use super::cluster;

#[test]
fn the_image_of_etcd_is_that_of_kubeadms_configuration() {
    let rows = [
        ("", "registry.k8s.io/etcd:3.6.5-0"),
        ("etcd:\n  local:\n    dataDir: /var/lib/etcd\n", "registry.k8s.io/etcd:3.6.5-0"),
        ("imageRepository: mirror.example\n", "mirror.example/etcd:3.6.5-0"),
        ("etcd:\n  local:\n    imageTag: 3.6.6-0\n", "registry.k8s.io/etcd:3.6.6-0"),
        (
            "imageRepository: a.example\netcd:\n  local:\n    imageRepository: b.example\n    imageTag: '1'\n",
            "b.example/etcd:1",
        ),
        ("no: [configuration", "registry.k8s.io/etcd:3.6.5-0"),
    ];
    for (text, image) in rows {
        assert_eq!(etcd_image(&json!({"data": {"ClusterConfiguration": text}})), image, "{text}");
    }
    assert_eq!(etcd_image(&Value::Null), "registry.k8s.io/etcd:3.6.5-0");
}

#[tokio::test]
async fn a_cluster_has_what_kubeadm_makes_and_deployments_have_their_defaults() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let client = cluster.client();
    let deployments = Api::<Deployment>::namespaced(client.clone(), "kube-system");
    let spec = deployments.get("coredns").await.unwrap().spec;
    assert_eq!(spec.replicas, Some(2));
    assert_eq!(spec.strategy.unwrap().type_.as_deref(), Some("RollingUpdate"));
    let small = json!({"metadata": {"name": "small"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let small: Deployment = serde_json::from_value(small).unwrap();
    let spec = deployments.create(&PostParams::default(), &small).await.unwrap().spec;
    assert_eq!((spec.replicas, spec.progress_deadline_seconds), (Some(1), Some(600)));
    deployments.delete("small", &DeleteParams::default()).await.unwrap();
    assert_eq!(deployments.get_opt("small").await.unwrap(), None, "nobody ends a deletion later");

    let info = Api::<ConfigMap>::namespaced(client.clone(), "kube-public").get("cluster-info").await.unwrap();
    let kubeconfig: Value = serde_json::from_str(&info.data.unwrap()["kubeconfig"]).unwrap();
    assert_eq!(kubeconfig["clusters"][0]["cluster"]["server"], "https://127.0.0.1:20000");
    let pods = Api::<Pod>::namespaced(client.clone(), "kube-system");
    let proxies = ListParams::default().labels("k8s-app=kube-proxy");
    let found = pods.list(&proxies).await.unwrap().items;
    let nodes: Vec<_> = found.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect();
    assert_eq!(nodes, ["a"]);
    cluster.workload.stop("a").await.unwrap();
    cluster.start("b", 2).await;
    let found = pods.list(&proxies).await.unwrap().items;
    assert_eq!(found.len(), 1, "the Pod goes with its Node");
}

#[tokio::test]
async fn etcd_may_run_elsewhere() {
    let mut cluster = cluster().await;
    cluster.authorities.etcd = None;
    cluster.start("a", 1).await;
    let client = cluster.client();
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await.unwrap();
    assert_eq!(nodes.items.len(), 1);
    let members = ListParams::default().labels("component=etcd");
    let pods = Api::<Pod>::namespaced(client, "kube-system").list(&members).await.unwrap();
    assert!(pods.items.is_empty());
}
