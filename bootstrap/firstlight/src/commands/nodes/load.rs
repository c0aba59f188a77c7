//! `firstlight nodes load`: container images in nodes.

use anyhow::Result;

use super::LoadOptions;
use super::open::settings;
use crate::output::say;

/// Imports each image into each node that runs.
pub(super) async fn run(options: &LoadOptions) -> Result<()> {
    let settings = settings(&options.directory, &options.container_images, options.registry_hosts.as_ref())?;
    settings.load(&options.images, options.cluster.as_deref(), say).await
}
