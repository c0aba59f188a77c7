//! A server that is not root's makes no nodes, and says why.

use std::path::Path;

use anyhow::Result;

use super::FALSE;
use crate::images::Images;
use crate::manifest;
use crate::stage::{self, Stage, UP, says};

/// Plays it.
///
/// # Errors
/// A step fails, or the machine is not as before.
pub async fn run(images: &Images, folder: &Path) -> Result<()> {
    stage::play("unprivileged", images, folder, play).await
}

async fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.server.run_as_nobody()?;
    stage.up(&manifest::without_health(stage.images.older())?, &[]).await?;
    let management = stage.server.kubectl();
    says(&management, "devcluster/local", "LoadBalancerAvailable", FALSE, "root", UP).await?;
    stage.steps.done("the DevCluster says it")?;
    stage.end().await
}
