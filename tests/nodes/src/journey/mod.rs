//! The journey of a user: `firstlight up -f examples/local-cluster.yaml`, and what follows until the cluster is deleted again.

mod claim;
mod forward;
mod restart;

use std::io::Write as _;

use anyhow::Result;

use crate::kubectl::Kubectl;
use crate::server::Server;
use crate::stage::{CHANGE, Stage};
use crate::{machines, manifest, usage, workload};

/// Plays the journey.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    let (old, new) = (stage.images.older(), stage.images.newer());
    stage.up(&manifest::cluster(old)?, &[]).await?;
    let (management, cluster) = stage.come_up(2).await?;
    let seconds = stage.steps.seconds();
    writeln!(
        std::io::stdout(),
        "figure: nodes: from nothing to 1 + 1 Available and CoreDNS 2/2: {seconds:.1} s"
    )?;
    usage::print(stage)?;
    answers(&stage.server, &cluster, &machines::names(&management).await?).await?;
    forward::run(&stage.server).await?;
    stage.steps.done("a Deployment answers through its Service, by name, and at a port of this machine")?;
    claim::run(stage, &cluster).await?;
    stage.steps.done("a Pod reads what another one wrote to the volume of a claim")?;
    // The upgrade comes first: it replaces each machine.
    management.apply(&manifest::cluster(new)?).await?;
    machines::wait(&management, &cluster, 2, new, CHANGE).await?;
    stage.steps.done(&format!("all machines have {new} instead of {old}"))?;
    management.run("scale kubeadmcontrolplane/local-control-plane --replicas 3").await?;
    management.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(&management, &cluster, 5, new, CHANGE).await?;
    stage.steps.done("3 + 2 machines")?;
    answers(&stage.server, &cluster, &machines::names(&management).await?).await?;
    stage.steps.done("the Deployment still answers")?;
    let killed = machines::kill_worker(&management).await?;
    machines::is_gone(&management, &killed, CHANGE).await?;
    machines::wait(&management, &cluster, 5, new, CHANGE).await?;
    stage.steps.done("a killed node was replaced")?;
    restart::run(&mut stage.server, &cluster).await?;
    machines::wait(&stage.server.kubectl(), &cluster, 5, new, CHANGE).await?;
    stage.steps.done("the server was killed and started again, and nothing else")?;
    stage.end().await
}

async fn answers(server: &Server, cluster: &Kubectl, nodes: &[String]) -> Result<()> {
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    workload::answers(cluster, &nodes, async |node: &str, command: &[&str]| {
        server.in_node(node, command).await
    })
    .await
}
