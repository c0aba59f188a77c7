//! The server is killed while an image is unpacked, while a node is made, and while it is bootstrapped. Each machine is made once.

use anyhow::{Result, ensure};

use super::{BOOTSTRAP, CONTAINER, FALSE, first_machine};
use crate::machines::{self, inits};
use crate::manifest;
use crate::run::until;
use crate::stage::{Stage, UP, says};

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.up(&manifest::without_health(stage.images.older())?, &[]).await?;
    let name = first_machine(stage).await?;
    let object = format!("devmachine/{name}");
    says(&stage.server.kubectl(), &object, CONTAINER, FALSE, "preparing", UP).await?;
    again(stage, "an image was unpacked").await?;
    let record = stage.folder.join("data/nodes/containers").join(&name);
    until("the container is being made", UP, async || {
        ensure!(record.exists(), "there is no {}", record.display());
        Ok(())
    })
    .await?;
    again(stage, "a container was made").await?;
    says(&stage.server.kubectl(), &object, BOOTSTRAP, FALSE, "kubeadm init", UP).await?;
    let before = inits();
    again(stage, "kubeadm ran").await?;
    let (management, _) = stage.come_up(2).await?;
    ensure!(inits().get(&name) == before.get(&name), "{name} was made again: {before:?}, {:?}", inits());
    let machines = machines::names(&management).await?;
    let listed = stage.server.listed().await?;
    let listed: Vec<&str> = listed.iter().filter_map(|node| node["name"].as_str()).collect();
    ensure!(machines.contains(&name), "the first machine was replaced: {machines:?}");
    ensure!(listed.len() == 3 && inits().len() == 2, "two nodes and a load balancer: {listed:?}");
    stage.end().await
}

/// Kills the server, and starts another one.
async fn again(stage: &mut Stage<'_>, what: &str) -> Result<()> {
    stage.server.kill().await?;
    stage.server.start(&["serve"]).await?;
    stage.steps.done(&format!("the server was killed while {what}"))
}
