//! Two clusters of one name, in two namespaces.

use anyhow::{Context as _, Result, ensure};

use crate::manifest;
use crate::run::until;
use crate::stage::{CHANGE, CLUSTER, Stage, UP, says};

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    let manifests = manifest::without_health(stage.images.older())?.replace("replicas: 1", "REPLICAS");
    let manifests = manifests.replacen("REPLICAS", "replicas: 1", 1).replace("REPLICAS", "replicas: 0");
    stage.up(&manifests, &[]).await?;
    let management = stage.server.kubectl();
    management.run("create namespace other").await?;
    management.apply(&manifests.replace("namespace: default", "namespace: other")).await?;
    let mut endpoints = Vec::new();
    for namespace in ["default", "other"] {
        let object = format!("--namespace {namespace} cluster/{CLUSTER}");
        says(&management, &object, "ControlPlaneInitialized", "True", "", UP).await?;
        let endpoint = format!("get {object} -o jsonpath={{.spec.controlPlaneEndpoint}}");
        endpoints.push(management.run(&endpoint).await?);
    }
    ensure!(endpoints[0] != endpoints[1], "both have the endpoint {}", endpoints[0]);
    stage.steps.done("both control planes are initialized")?;
    let second = stage.server.cluster_in(CLUSTER, "other").await?;
    until("the second one answers", UP, async || second.run("get --raw /readyz").await).await?;
    management.wait(&format!("delete cluster {CLUSTER}"), CHANGE).await?;
    second.run("get --raw /readyz").await.context("the other cluster, after the first was deleted")?;
    let listed = stage.server.listed().await?;
    ensure!(listed.len() == 2, "a node and its load balancer are left: {listed:?}");
    stage.steps.done("one is deleted, and the other goes on")?;
    stage.end().await
}
