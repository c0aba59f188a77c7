//! When the controllers leave claims and pools alone.

use std::time::Duration;

use schemas::cluster::Cluster;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::{Value, json};
use test_plane::{Fixture, get};

use crate::ipam::support::{GROUPS, address, claim, cluster, pool, start};

async fn rest() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_cluster_holds_its_claims() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    let mut named = claim("named");
    named["spec"]["clusterName"] = "c".into();
    fixture.create(named).await;
    let mut labelled = claim("labelled");
    labelled["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    fixture.create(labelled).await;
    fixture.create(claim("free")).await;
    fixture.until("the free one has an address", |manager| address(manager, "free").is_some()).await;
    rest().await;
    let none = |fixture: &Fixture| {
        address(&fixture.manager, "named").is_none() && address(&fixture.manager, "labelled").is_none()
    };
    assert!(none(&fixture), "the Cluster does not exist yet");
    fixture.create(cluster("c", true)).await;
    fixture.until("the Cluster is there", |manager| get::<Cluster>(manager, "c").is_some()).await;
    rest().await;
    assert!(none(&fixture) && fixture.get::<IPAddressClaim>("named").unwrap().metadata.finalizers.is_none());
    fixture.patch::<Cluster>("c", json!({"spec": {"paused": false}})).await;
    for name in ["named", "labelled"] {
        fixture.until("it has an address", |manager| address(manager, name).is_some()).await;
        let labels = fixture.get::<IPAddress>(name).unwrap().metadata.labels.clone().unwrap();
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "c");
    }

    fixture.patch::<Cluster>("c", json!({"spec": {"paused": true}})).await;
    fixture.delete::<IPAddressClaim>("named").await;
    rest().await;
    assert!(fixture.get::<IPAddress>("named").is_some());
    // The Cluster may be gone before its claims: they must not wait for it forever.
    fixture.delete::<Cluster>("c").await;
    fixture.until("it is released", |manager| get::<IPAddressClaim>(manager, "named").is_none()).await;
    assert!(fixture.get::<IPAddress>("named").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_claim_and_a_paused_pool_are_left_alone() {
    let fixture = Fixture::new(GROUPS, start).await;
    let pause = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    let resume = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    let mut paused = claim("a");
    paused["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(paused).await;
    fixture.create(claim("b")).await;
    fixture.until("b has an address", |manager| address(manager, "b").is_some()).await;
    rest().await;
    assert_eq!(address(&fixture.manager, "a"), None);
    fixture.patch::<IPAddressClaim>("a", resume.clone()).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;

    fixture.patch::<InClusterIPPool>("pool", pause).await;
    rest().await;
    fixture.create(claim("c")).await;
    fixture.delete::<IPAddressClaim>("b").await;
    rest().await;
    assert!(address(&fixture.manager, "c").is_none() && fixture.get::<IPAddress>("b").is_some());
    fixture.patch::<InClusterIPPool>("pool", resume).await;
    fixture.until("c has an address", |manager| address(manager, "c").is_some()).await;
    fixture.until("b is released", |manager| get::<IPAddress>(manager, "b").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn upstreams_provider_takes_over_while_it_is_installed() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "manager", "labels": {"cluster.x-k8s.io/provider": "ipam-in-cluster"}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod},
    });
    fixture.create(deployment).await;
    rest().await;
    // Whoever may create Deployments in a namespace cannot stop the pools of all: only administrators can label a Namespace.
    fixture.create(claim("before")).await;
    fixture.until("a claim has an address", |manager| address(manager, "before").is_some()).await;
    label_namespace(&fixture, json!("ipam-in-cluster")).await;
    rest().await;
    fixture.create(claim("b")).await;
    fixture.delete::<IPAddressClaim>("a").await;
    rest().await;
    assert!(address(&fixture.manager, "b").is_none() && fixture.get::<IPAddress>("a").is_some());
    label_namespace(&fixture, Value::Null).await;
    fixture.until("b has an address", |manager| address(manager, "b").is_some()).await;
    label_namespace(&fixture, json!("ipam-in-cluster")).await;
    rest().await;
    fixture.create(claim("c")).await;
    rest().await;
    assert!(address(&fixture.manager, "c").is_none());
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
        kube::Api::namespaced(fixture.user(), "default");
    deployments.delete("manager", &kube::api::DeleteParams::background()).await.unwrap();
    fixture.until("c has an address", |manager| address(manager, "c").is_some()).await;
    fixture.until("a is released", |manager| get::<IPAddress>(manager, "a").is_none()).await;
}

/// Gives the namespace the label of a provider, or takes it away.
async fn label_namespace(fixture: &Fixture, provider: Value) {
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(fixture.user());
    let labels = json!({"metadata": {"labels": {"cluster.x-k8s.io/provider": provider}}});
    let patch = kube::api::Patch::Merge(labels);
    namespaces.patch("default", &kube::api::PatchParams::default(), &patch).await.unwrap();
}
