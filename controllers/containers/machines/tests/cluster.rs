//! A cluster comes up and goes.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use engine::Manager;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;

use crate::containers_machines::fixture::{
    cluster, fixture, get, is_ready, is_up, machine, machine_with, said, secret, tells,
};

fn is_gone(manager: &Manager, namespace: &str) -> bool {
    get::<Cluster>(manager, namespace, "first").is_none()
        && manager.objects::<Machine>().in_namespace(namespace).is_empty()
        && manager.objects::<DevMachine>().in_namespace(namespace).is_empty()
        && get::<DevCluster>(manager, namespace, "first").is_none()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_up_rests_and_goes_without_a_trace() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", "first-cp-1", json!({})).await;
    machine(&fixture, "default", "worker", json!({"preLoadImages": ["web"]})).await;
    let are_ready = |manager: &Manager| is_ready(manager, "first-cp-1") && is_ready(manager, "worker");
    fixture.until("both machines are ready", are_ready).await;

    assert_eq!(host.names(), ["first-cp-1", "first-worker"]);
    let (plane, worker) = (host.machine("first-cp-1").unwrap(), host.machine("first-worker").unwrap());
    assert_eq!((plane.begun, worker.begun, plane.imported, worker.imported), (1, 1, 0, 1));
    assert!(plane.script.unwrap().contains("kubeadm join"));
    assert_eq!(plane.container.image, "kindest/node:v1.36.0");
    let label = |key: &str| worker.container.labels.get(key).map(String::as_str);
    assert_eq!(label("io.x-k8s.kind.cluster"), Some("first"));
    assert_eq!(label("io.x-k8s.kind.role"), Some("worker"));
    assert_eq!(label("firstlight.dev/name"), Some("worker"));
    let dev = get::<DevMachine>(&fixture.manager, "default", "worker").unwrap();
    assert_eq!(dev.spec.provider_id.as_deref(), Some("docker:////first-worker"));

    let balancer = host.with(|contents| contents.balancers["first-lb"].clone());
    let endpoint =
        get::<Cluster>(&fixture.manager, "default", "first").unwrap().spec.control_plane_endpoint.clone();
    assert_eq!(endpoint.unwrap().host, Some(balancer.address.to_string()));
    let servers: Vec<String> =
        balancer.configuration.servers.iter().map(|it| it.address.to_string()).collect();
    assert_eq!(servers, [plane.container.address.to_string()]);

    // The core controllers say only after ten minutes what nobody has said of a Machine without an owner.
    tokio::time::sleep(Duration::from_secs(900)).await;
    let (writes, changes) = (fixture.requests.writes(), host.with(|contents| contents.changes.len()));
    host.with(|contents| contents.looks.clear());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let written = usize::try_from(writes).unwrap();
    assert_eq!(fixture.requests.trace()[written..], [""; 0], "nothing is written at rest");
    assert_eq!(host.with(|contents| contents.changes.len()), changes, "nothing is done at rest");
    let looks: Vec<String> = host.with(|contents| contents.looks.keys().cloned().collect());
    assert_eq!(looks, ["first-cp-1", "first-lb", "first-worker"], "nobody looks for another load balancer");

    fixture.delete::<Cluster>("first").await;
    fixture.until("the cluster is gone", |manager| is_gone(manager, "default")).await;
    assert_eq!((host.names().len(), host.with(|contents| contents.balancers.len())), (0, 0));
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_passes_its_gates_in_order() {
    let (fixture, host) = fixture().await;
    machine_with(&fixture, "default", "first-cp-1", json!({}), "late").await;
    cluster(&fixture, "default").await;
    tells(&fixture, "first-cp-1", "BootstrapCompleted", "Secret default/late").await;
    assert!(
        said(&fixture.manager, "first-cp-1", "BootstrapCompleted").starts_with("False/InvalidBootstrapData")
    );
    // A machine has its provider ID before it has its bootstrap data.
    assert!(said(&fixture.manager, "first-cp-1", "ContainerProvisioned").starts_with("True"));
    assert_eq!(host.machine("first-cp-1").unwrap().begun, 0);
    secret(&fixture, "default", "late", json!({"value": crate::containers_machines::fixture::DATA})).await;
    fixture.until("it is up", |manager| is_up(manager, "default", "first-cp-1")).await;
    let expected = [
        "balance first-lb",
        "create first-cp-1",
        "start first-cp-1",
        "balance first-lb",
        "deliver first-cp-1",
        "begin first-cp-1",
    ];
    assert_eq!(host.with(|contents| contents.changes.clone()), expected);
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_clusters_of_one_name_share_nothing() {
    let (fixture, host) = fixture().await;
    fixture.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).await;
    for namespace in ["default", "other"] {
        cluster(&fixture, namespace).await;
        machine(&fixture, namespace, "first-cp-1", json!({})).await;
        fixture.until("it is up", |manager| is_up(manager, namespace, "first-cp-1")).await;
    }
    assert_eq!((host.names().len(), host.with(|contents| contents.balancers.len())), (2, 2));
    let servers = host.with(|contents| {
        let all = contents.balancers.values().flat_map(|it| it.configuration.servers.clone());
        all.map(|server| server.name).collect::<std::collections::BTreeSet<String>>()
    });
    assert_eq!(servers.into_iter().collect::<Vec<_>>(), host.names(), "each has its own server");

    fixture.delete_in::<Cluster>("other", "first").await;
    fixture.until("the second cluster is gone", |manager| is_gone(manager, "other")).await;
    assert_eq!(host.names(), ["first-cp-1"]);
    assert!(host.with(|contents| contents.balancers.contains_key("first-lb")));
    assert!(is_up(&fixture.manager, "default", "first-cp-1"));
    fixture.manager.stop().await;
}
