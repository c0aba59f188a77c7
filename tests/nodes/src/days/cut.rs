//! A node that is killed at the moment of its bootstrap.

use anyhow::Result;

use super::{BOOTSTRAP, CONTAINER, FALSE, first_machine};
use crate::stage::{Stage, UP, says};
use crate::{machines, manifest};

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    stage.up(&manifest::without_health(stage.images.older())?, &[]).await?;
    let name = first_machine(stage).await?;
    let (management, object) = (stage.server.kubectl(), format!("devmachine/{name}"));
    says(&management, &object, BOOTSTRAP, FALSE, "kubeadm init", UP).await?;
    stage.steps.done("kubeadm init runs")?;
    machines::kill(&name)?;
    says(&management, &object, CONTAINER, FALSE, "its init has ended with status 137", UP).await?;
    stage.steps.done("the condition says that the node has ended")?;
    stage.server.run(&["nodes", "start", &name]).await?;
    says(&management, &object, BOOTSTRAP, FALSE, "interrupted: ", UP).await?;
    stage.steps.done("the bootstrap is not begun a second time")?;
    stage.end().await
}
