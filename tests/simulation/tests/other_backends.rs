//! Objects with a backend that is not simulated, which belong to upstream's Docker provider.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::Document;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use schemas::HasConditions;
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

/// Longer than any delay of a retry.
const LONG: Duration = Duration::from_secs(600);
/// The finalizers of upstream's Docker provider, which the simulated kinds have, too.
const OF_MACHINE: &str = "dockermachine.infrastructure.cluster.x-k8s.io";
const REASON: &str = "NotReconciledHere";

/// Returns the manifests of a cluster; those of the infrastructure kinds in `docker` have the other backend.
fn manifests(docker: &[&str]) -> Result<Vec<Document>> {
    let mut documents = cluster(Shape { control_plane: 1, workers: 1, version: "v1.36.0" })?;
    for document in &mut documents {
        let object = &mut document.object;
        if object["kind"] == "DevCluster" && docker.contains(&"DevCluster") {
            object["spec"]["backend"] = json!({"docker": {}});
        }
        if object["kind"] == "DevMachineTemplate" && docker.contains(&"DevMachineTemplate") {
            object["spec"]["template"]["spec"]["backend"] = json!({"docker": {}});
        }
    }
    Ok(documents)
}

/// Returns reason and message of `Ready`.
fn ready<K: HasConditions>(object: &K) -> (String, String) {
    let found = object.condition("Ready").cloned().unwrap_or_default();
    (found.reason, found.message)
}

async fn a_cluster_of_docker(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    apply_all(&life.plane.registry, &client, &manifests(&["DevCluster"])?).await?;
    life.clock.sleep(LONG).await;
    let clusters = Api::<DevCluster>::namespaced(client, "default");
    let dev = clusters.get("first").await?;
    let (reason, message) = ready(&dev);
    ensure!(reason == REASON && message.contains("spec.backend.docker"), "{reason}: {message}");
    ensure!(dev.metadata.finalizers.is_none() && dev.spec.control_plane_endpoint.is_none(), "{dev:?}");
    let workloads = life.workloads.as_ref().context("controllers")?;
    ensure!(workloads.get(&NamespacedName::new("default", "first")).await.is_none(), "nothing runs");
    Ok(())
}

async fn machines_of_docker(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    apply_all(&life.plane.registry, &client, &manifests(&["DevMachineTemplate"])?).await?;
    life.clock.sleep(LONG).await;
    let machines = Api::<DevMachine>::namespaced(client, "default");
    let found = machines.list(&ListParams::default()).await?.items;
    let dev = found.first().context("a DevMachine")?;
    let (reason, message) = ready(dev);
    ensure!(reason == REASON && message.contains("spec.backend.docker"), "{reason}: {message}");
    ensure!(dev.metadata.finalizers.is_none() && dev.spec.provider_id.is_none(), "{dev:?}");

    let name = dev.metadata.name.as_deref().unwrap_or_default();
    let condition = json!({"type": "Ready", "status": "False", "reason": "ContainerMissing", "message": "", "lastTransitionTime": "2027-01-01T00:00:00Z"});
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    machines.patch_status(name, &PatchParams::default(), &status).await?;
    let finalizer = Patch::Merge(json!({"metadata": {"finalizers": [OF_MACHINE]}}));
    machines.patch(name, &PatchParams::default(), &finalizer).await?;
    machines.delete(name, &DeleteParams::default()).await?;
    life.clock.sleep(LONG).await;
    let kept = machines.get(name).await.context("the finalizer is that of the other provider")?;
    ensure!(ready(&kept).0 == "ContainerMissing", "its condition, too: {:?}", ready(&kept));
    Ok(())
}

/// Installs upstream's Docker provider, as far as anybody looks at it.
async fn install(life: &Life) -> Result<Api<Deployment>> {
    let client = life.plane.client("user");
    let labels = json!({"cluster.x-k8s.io/provider": "infrastructure-docker"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capd-system", "labels": labels}});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "manager", "image": "manager"}]}});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "manager", "namespace": "capd-system", "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": pod},
    });
    let namespaces = Api::<Namespace>::all(client.clone());
    if namespaces.get_opt("capd-system").await?.is_none() {
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace)?).await?;
    }
    let deployments = Api::<Deployment>::namespaced(client, "capd-system");
    deployments.create(&PostParams::default(), &serde_json::from_value(deployment)?).await?;
    life.clock.sleep(LONG).await;
    Ok(deployments)
}

async fn the_provider_has_the_kinds_while_it_is_installed(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let deployments = install(life).await?;
    apply_all(&life.plane.registry, &client, &manifests(&[])?).await?;
    life.clock.sleep(LONG).await;
    let clusters = Api::<DevCluster>::namespaced(client.clone(), "default");
    let dev = clusters.get("first").await?;
    let (reason, message) = ready(&dev);
    ensure!(reason == REASON && message.contains("infrastructure-docker"), "{reason}: {message}");
    ensure!(dev.metadata.finalizers.is_none() && dev.spec.control_plane_endpoint.is_none(), "{dev:?}");

    deployments.delete("manager", &DeleteParams::default()).await?;
    life.clock.sleep(LONG).await;
    ensure!(clusters.get("first").await?.condition_is_true("Ready"), "the server has taken over");
    let machines = Api::<DevMachine>::namespaced(client, "default");
    let found = machines.list(&ListParams::default()).await?.items;
    ensure!(found.len() == 2 && found.iter().all(|dev| dev.condition_is_true("Ready")), "{found:?}");

    install(life).await?;
    let name = found[0].metadata.name.as_deref().unwrap_or_default();
    machines.delete(name, &DeleteParams::default()).await?;
    life.clock.sleep(LONG).await;
    ensure!(machines.get_opt(name).await?.is_some(), "its deletion is the provider's");
    deployments.delete("manager", &DeleteParams::default()).await?;
    life.clock.sleep(LONG).await;
    ensure!(machines.get_opt(name).await?.is_none(), "the server has taken over again");
    Ok(())
}

#[test]
fn a_provider_that_is_installed_has_the_simulated_kinds_too() {
    Simulation::new(41)
        .live(async |life, _| the_provider_has_the_kinds_while_it_is_installed(life).await)
        .expect("seed 41");
}

#[test]
fn a_cluster_with_another_backend_is_left_alone_and_says_so() {
    Simulation::new(31).live(async |life, _| a_cluster_of_docker(life).await).expect("seed 31");
}

#[test]
fn machines_with_another_backend_are_left_alone_and_say_so() {
    Simulation::new(37).live(async |life, _| machines_of_docker(life).await).expect("seed 37");
}
