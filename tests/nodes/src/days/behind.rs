//! Nodes that are paused, stopped and deleted behind the server's back.

use anyhow::{Context as _, Result, ensure};

use super::{CONTAINER, FALSE, TRUE};
use crate::kubectl::Kubectl;
use crate::run::until;
use crate::stage::{CHANGE, Stage, UP, says};
use crate::{machines, manifest};

const BALANCER: &str = "LoadBalancerAvailable";
const DEV_CLUSTER: &str = "devcluster/local";

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.up(&manifest::without_health(stage.images.older())?, &[]).await?;
    let (management, cluster) = stage.come_up(2).await?;
    let worker = machines::worker(&management).await?;
    let names = machines::names(&management).await?;
    let plane = names.into_iter().find(|name| *name != worker).context("a control plane")?;
    paused(stage, &management, &plane).await?;
    for node in [&worker, &plane] {
        let lease = format!("--namespace kube-node-lease get lease {node} -o jsonpath={{.spec.renewTime}}");
        let before = cluster.run(&lease).await?;
        stopped(stage, &management, node).await?;
        until("its kubelet answers", UP, async || {
            ensure!(cluster.run(&lease).await? != before, "its last word is of {before}");
            Ok(())
        })
        .await?;
        let ready = format!("wait node/{node} --for=condition=Ready");
        cluster.wait(&ready, UP).await.with_context(|| format!("the Node of {node} after its start"))?;
        stage.steps.done("its Node is Ready again")?;
    }
    stage.server.run(&["nodes", "delete", &worker]).await?;
    says(&management, &format!("devmachine/{worker}"), CONTAINER, FALSE, "it is gone", UP).await?;
    management.run(&format!("delete machine {worker} --wait=false")).await?;
    machines::is_gone(&management, &worker, CHANGE).await?;
    machines::wait(&management, &cluster, 2, stage.images.older(), CHANGE).await?;
    stage.steps.done("a node that was deleted is replaced with its Machine")?;
    stage.end().await
}

/// Freezes the control plane and the load balancer.
async fn paused(stage: &Stage<'_>, management: &Kubectl, plane: &str) -> Result<()> {
    let machine = format!("devmachine/{plane}");
    for (node, object, condition) in
        [(plane, machine.as_str(), CONTAINER), ("local-lb", DEV_CLUSTER, BALANCER)]
    {
        stage.server.run(&["nodes", "pause", node]).await?;
        says(management, object, condition, FALSE, "is paused: `firstlight nodes resume", UP).await?;
        stage.server.run(&["nodes", "resume", node]).await?;
        says(management, object, condition, TRUE, "", UP).await?;
        stage.steps.done(&format!("{node} was paused"))?;
    }
    Ok(())
}

/// Stops a node, and starts it again.
async fn stopped(stage: &Stage<'_>, management: &Kubectl, node: &str) -> Result<()> {
    let object = format!("devmachine/{node}");
    let endpoint = format!("get {DEV_CLUSTER} -o jsonpath={{.spec.controlPlaneEndpoint}}");
    let before = management.run(&endpoint).await?;
    stage.server.run(&["nodes", "stop", node]).await?;
    let remedy = format!("`firstlight nodes start {node}` starts it again");
    says(management, &object, CONTAINER, FALSE, &remedy, UP).await?;
    stage.server.run(&["nodes", "start", node]).await?;
    says(management, &object, CONTAINER, TRUE, "", UP).await?;
    let after = management.run(&endpoint).await?;
    ensure!(before == after, "the endpoint was {before}, and is {after}");
    stage.steps.done(&format!("{node} was stopped and started"))
}
