//! When the controllers leave claims and pools alone.

use std::time::Duration;

use schemas::cluster::Cluster;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::{Value, json};
use test_plane::{World, get};

use crate::ipam::support::{GROUPS, address, claim, cluster, pool, start};

async fn rest() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_cluster_holds_its_claims() {
    let world = World::new(GROUPS, start).await;
    world.create(pool("10.0.0.19")).await;
    let mut named = claim("named");
    named["spec"]["clusterName"] = "c".into();
    world.create(named).await;
    let mut labelled = claim("labelled");
    labelled["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    world.create(labelled).await;
    world.create(claim("free")).await;
    world.until("the free one has an address", |manager| address(manager, "free").is_some()).await;
    rest().await;
    let none = |world: &World| {
        address(&world.manager, "named").is_none() && address(&world.manager, "labelled").is_none()
    };
    assert!(none(&world), "the Cluster does not exist yet");
    world.create(cluster("c", true)).await;
    world.until("the Cluster is there", |manager| get::<Cluster>(manager, "c").is_some()).await;
    rest().await;
    assert!(none(&world) && world.get::<IPAddressClaim>("named").unwrap().metadata.finalizers.is_none());
    world.patch::<Cluster>("c", json!({"spec": {"paused": false}})).await;
    for name in ["named", "labelled"] {
        world.until("it has an address", |manager| address(manager, name).is_some()).await;
        let labels = world.get::<IPAddress>(name).unwrap().metadata.labels.clone().unwrap();
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], "c");
    }

    world.patch::<Cluster>("c", json!({"spec": {"paused": true}})).await;
    world.delete::<IPAddressClaim>("named").await;
    rest().await;
    assert!(world.get::<IPAddress>("named").is_some());
    // The Cluster may be gone before its claims: they must not wait for it forever.
    world.delete::<Cluster>("c").await;
    world.until("it is released", |manager| get::<IPAddressClaim>(manager, "named").is_none()).await;
    assert!(world.get::<IPAddress>("named").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_claim_and_a_paused_pool_are_left_alone() {
    let world = World::new(GROUPS, start).await;
    let pause = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
    let resume = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}});
    let mut paused = claim("a");
    paused["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    world.create(pool("10.0.0.19")).await;
    world.create(paused).await;
    world.create(claim("b")).await;
    world.until("b has an address", |manager| address(manager, "b").is_some()).await;
    rest().await;
    assert_eq!(address(&world.manager, "a"), None);
    world.patch::<IPAddressClaim>("a", resume.clone()).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;

    world.patch::<InClusterIPPool>("pool", pause).await;
    rest().await;
    world.create(claim("c")).await;
    world.delete::<IPAddressClaim>("b").await;
    rest().await;
    assert!(address(&world.manager, "c").is_none() && world.get::<IPAddress>("b").is_some());
    world.patch::<InClusterIPPool>("pool", resume).await;
    world.until("c has an address", |manager| address(manager, "c").is_some()).await;
    world.until("b is released", |manager| get::<IPAddress>(manager, "b").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn upstreams_provider_takes_over_while_it_is_installed() {
    let world = World::new(GROUPS, start).await;
    world.create(pool("10.0.0.19")).await;
    world.create(claim("a")).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "manager", "labels": {"cluster.x-k8s.io/provider": "ipam-in-cluster"}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod},
    });
    world.create(deployment).await;
    rest().await;
    // Whoever may create Deployments in a namespace cannot stop the pools of all: only administrators can label a Namespace.
    world.create(claim("before")).await;
    world.until("a claim has an address", |manager| address(manager, "before").is_some()).await;
    label_namespace(&world, json!("ipam-in-cluster")).await;
    rest().await;
    world.create(claim("b")).await;
    world.delete::<IPAddressClaim>("a").await;
    rest().await;
    assert!(address(&world.manager, "b").is_none() && world.get::<IPAddress>("a").is_some());
    label_namespace(&world, Value::Null).await;
    world.until("b has an address", |manager| address(manager, "b").is_some()).await;
    label_namespace(&world, json!("ipam-in-cluster")).await;
    rest().await;
    world.create(claim("c")).await;
    rest().await;
    assert!(address(&world.manager, "c").is_none());
    let deployments: kube::Api<k8s_openapi::api::apps::v1::Deployment> =
        kube::Api::namespaced(world.user(), "default");
    deployments.delete("manager", &kube::api::DeleteParams::background()).await.unwrap();
    world.until("c has an address", |manager| address(manager, "c").is_some()).await;
    world.until("a is released", |manager| get::<IPAddress>(manager, "a").is_none()).await;
}

/// Gives the namespace the label of a provider, or takes it away.
async fn label_namespace(world: &World, provider: Value) {
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(world.user());
    let labels = json!({"metadata": {"labels": {"cluster.x-k8s.io/provider": provider}}});
    let patch = kube::api::Patch::Merge(labels);
    namespaces.patch("default", &kube::api::PatchParams::default(), &patch).await.unwrap();
}
