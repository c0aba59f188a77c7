//! Cluster API's own provider of these kinds is installed, and deleted again: one kind has one controller.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use schemas::HasConditions;
use schemas::cluster::MachinePool;
use schemas::infrastructure::{DevCluster, DevMachine, DevMachinePool};
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::containers_machines::fixture::{cluster, fixture, get, is_ready, is_up, machine, pool, said};

const LABEL: &str = "cluster.x-k8s.io/provider";
const NAMESPACE: &str = "capd-system";

/// Longer than any look at a container, and any delay of a retry.
async fn rest() {
    tokio::time::sleep(Duration::from_secs(120)).await;
}

/// Installs a provider as `kubectl apply` of its components does.
async fn install(fixture: &Fixture, provider: &str) {
    let labels = json!({LABEL: provider});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "manager", "namespace": NAMESPACE, "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": pod}}),
    ];
    for object in objects {
        fixture.create(object).await;
    }
    rest().await;
}

async fn uninstall(fixture: &Fixture) {
    let deployments: Api<Deployment> = Api::namespaced(fixture.user(), NAMESPACE);
    deployments.delete("manager", &DeleteParams::background()).await.unwrap();
}

/// Returns reason and message of `Ready`.
fn ready<K: HasConditions>(object: &K) -> (String, String) {
    let found = object.condition("Ready").cloned().unwrap_or_default();
    (found.reason, found.message)
}

fn is_left<K: HasConditions>(object: &K) -> bool {
    let (reason, message) = ready(object);
    reason == "NotReconciledHere"
        && message.contains("infrastructure-docker")
        && message.contains("capd-system/manager")
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_installed_has_the_kinds_until_it_is_deleted() {
    let (fixture, host) = fixture().await;
    install(&fixture, "infrastructure-docker").await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", "first-cp-1", json!({})).await;
    pool(&fixture, 1, json!({})).await;
    rest().await;
    let dev = get::<DevCluster>(&fixture.manager, "default", "first").unwrap();
    assert!(is_left(dev.as_ref()) && dev.metadata.finalizers.is_none(), "{dev:?}");
    let dev = get::<DevMachine>(&fixture.manager, "default", "first-cp-1").unwrap();
    assert!(is_left(dev.as_ref()) && dev.metadata.finalizers.is_none(), "{dev:?}");
    let dev = get::<DevMachinePool>(&fixture.manager, "default", "pool").unwrap();
    assert!(is_left(dev.as_ref()) && dev.metadata.finalizers.is_none(), "{dev:?}");
    assert_eq!(host.with(|contents| contents.changes.clone()), [""; 0], "nothing was made of the machine");

    uninstall(&fixture).await;
    let are_ready = |manager: &engine::Manager| {
        let pool = get::<MachinePool>(manager, "default", "pool").and_then(|pool| pool.status.clone());
        is_ready(manager, "first-cp-1") && pool.is_some_and(|status| status.ready_replicas == Some(1))
    };
    fixture.until("the controllers of this process have taken over", are_ready).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_for_what_was_made_here_before() {
    let (fixture, host) = fixture().await;
    cluster(&fixture, "default").await;
    machine(&fixture, "default", "first-cp-1", json!({})).await;
    fixture.until("it is ready", |manager| is_ready(manager, "first-cp-1")).await;
    // Another provider has other kinds.
    install(&fixture, "infrastructure-other").await;
    host.with(|contents| contents.kill("first-cp-1"));
    fixture.until("it is told", |manager| !is_up(manager, "default", "first-cp-1")).await;
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace"}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment"}),
    ] {
        relabel(&fixture, &object, "infrastructure-docker").await;
    }
    rest().await;
    host.with(|contents| drop(contents.machines.remove("first-cp-1")));
    let before = (
        said(&fixture.manager, "first-cp-1", "ContainerProvisioned"),
        host.with(|contents| contents.looks.clone()),
    );
    rest().await;
    let after = (
        said(&fixture.manager, "first-cp-1", "ContainerProvisioned"),
        host.with(|contents| contents.looks.clone()),
    );
    assert_eq!(before, after, "nobody looks at it, and says anything");
    uninstall(&fixture).await;
    fixture
        .until("it is told again", |manager| {
            said(manager, "first-cp-1", "ContainerProvisioned").contains("is gone")
        })
        .await;
    fixture.manager.stop().await;
}

/// Gives the Namespace or the Deployment the label of another provider.
async fn relabel(fixture: &Fixture, kind: &Value, provider: &str) {
    let patch = kube::api::Patch::Merge(json!({"metadata": {"labels": {LABEL: provider}}}));
    let parameters = kube::api::PatchParams::default();
    if kind["kind"] == "Namespace" {
        let namespaces: Api<Namespace> = Api::all(fixture.user());
        namespaces.patch(NAMESPACE, &parameters, &patch).await.unwrap();
    } else {
        let deployments: Api<Deployment> = Api::namespaced(fixture.user(), NAMESPACE);
        deployments.patch("manager", &parameters, &patch).await.unwrap();
    }
}
