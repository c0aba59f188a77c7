//! A server that is not root's makes no nodes, and says why.

use anyhow::Result;

use super::FALSE;
use crate::manifest;
use crate::stage::{Stage, UP, says};

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.server.run_as_nobody()?;
    stage.up(&manifest::without_health(stage.images.older())?, &[]).await?;
    let management = stage.server.kubectl();
    says(&management, "devcluster/local", "LoadBalancerAvailable", FALSE, "root", UP).await?;
    stage.steps.done("the DevCluster says it")?;
    stage.end().await
}
