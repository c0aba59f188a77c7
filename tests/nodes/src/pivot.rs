//! `up --pivot-to self`: the cluster takes over everything, and this machine keeps what only it can do: its nodes are made and removed from here.

use std::time::Duration;

use anyhow::Result;

use crate::kubectl::Kubectl;
use crate::stage::{CHANGE, Stage, UP};
use crate::{machines, manifest};

/// The longest time for the pivot, with the image of a program that was not built for a release.
const PIVOT: Duration = Duration::from_secs(240);
/// What `up` says when it goes on as the controller of the nodes.
const GOES_ON: &str = "this process goes on as their controller";
const CONTROLLERS: &str = "--namespace firstlight-system rollout status deployment/firstlight-controllers";

/// Plays the pivot.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    let version = stage.images.older();
    stage.up(&manifest::cluster(version)?, &["--pivot-to", "self"]).await?;
    stage.server.says(GOES_ON, UP + PIVOT).await?;
    stage.steps.done("the cluster manages itself")?;
    let itself = stage.server.pivoted();
    itself.wait(CONTROLLERS, UP).await?;
    machines::wait(&itself, &itself, 2, version, CHANGE).await?;
    stage.steps.done("its controllers run, and see their machines")?;
    grow_and_replace(stage, &itself, version).await?;
    stage.server.interrupt().await?;
    stage.steps.done("interrupted")?;
    stage.server.control(&stage.server.pivot_target()).await?;
    itself.run("scale machinedeployment/local-workers --replicas 1").await?;
    machines::wait(&itself, &itself, 2, version, CHANGE).await?;
    itself.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(&itself, &itself, 3, version, CHANGE).await?;
    stage.steps.done("`firstlight controllers` has removed a machine, and made one")?;
    stage.server.interrupt().await?;
    stage.server.run(&["nodes", "delete", "--all"]).await?;
    stage.steps.done("the nodes are deleted").map(drop)
}

/// Makes a second worker, and replaces one.
async fn grow_and_replace(stage: &Stage<'_>, itself: &Kubectl, version: &str) -> Result<()> {
    itself.run("scale machinedeployment/local-workers --replicas 2").await?;
    machines::wait(itself, itself, 3, version, CHANGE).await?;
    stage.steps.done("a second worker")?;
    let worker = machines::worker(itself).await?;
    itself.run(&format!("delete machine {worker} --wait=false")).await?;
    machines::is_gone(itself, &worker, CHANGE).await?;
    machines::wait(itself, itself, 3, version, CHANGE).await?;
    stage.steps.done("a worker was deleted, and replaced")
}
