//! What cannot work: a command of the user that fails, and an image that is nowhere.

use anyhow::Result;

use super::{BOOTSTRAP, CONTAINER, FALSE, first_machine};
use crate::manifest;
use crate::stage::{CHANGE, Stage, UP, says};

/// Plays it.
///
/// # Errors
/// A step fails.
pub async fn play(stage: &mut Stage<'_>) -> Result<()> {
    let version = stage.images.older();
    stage.up(&manifest::with_image(version, "localhost:1/no-node:v1")?, &[]).await?;
    let (management, object) =
        (stage.server.kubectl(), format!("devmachine/{}", first_machine(stage).await?));
    says(&management, &object, CONTAINER, FALSE, "localhost:1/no-node:v1", UP).await?;
    says(&management, &object, CONTAINER, FALSE, "--container-images", UP).await?;
    stage.server.says("localhost:1/no-node:v1", UP).await?;
    stage.steps.done("an image that is nowhere is named")?;
    management.wait("delete cluster local", CHANGE).await?;
    management.run("delete devmachinetemplate,kubeadmconfigtemplate,machinedeployment --all").await?;
    management.apply(&manifest::with_command(version, "exit 3")?).await?;
    let object = format!("devmachine/{}", first_machine(stage).await?);
    says(&management, &object, BOOTSTRAP, FALSE, "exited with status: 3", UP).await?;
    stage.server.says("exited with status: 3", UP).await?;
    stage.steps.done("a command that fails is named")?;
    stage.end().await
}
