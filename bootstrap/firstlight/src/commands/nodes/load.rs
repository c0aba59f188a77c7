//! `firstlight nodes load`: container images in nodes.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use container_machines::names::{BALANCER_ROLE, LABEL_ROLE};
use machinery::clock::Clock;
use machinery::random::Random;
use system_containers::{Container, Runtime, State};

use super::{LoadOptions, list};
use crate::output::say;

/// Imports each image into each node that runs.
pub(super) async fn run(options: &LoadOptions) -> Result<()> {
    let clock = Clock::system();
    let settings =
        super::settings(&options.directory, &options.container_images, options.registry_hosts.as_ref())?;
    let own = settings.runtime(&clock, &Random::system()).await?;
    let images = settings.images(&clock)?;
    let is_wanted = |container: &Container| {
        container.state == State::Running
            && container.labels.get(LABEL_ROLE).map(String::as_str) != Some(BALANCER_ROLE)
            && options.cluster.as_deref().is_none_or(|cluster| list::cluster(container) == cluster)
    };
    let mut nodes = own.list(&BTreeMap::new()).await?;
    nodes.retain(is_wanted);
    ensure!(!nodes.is_empty(), "no node runs that could take an image");
    for image in &options.images {
        for node in &nodes {
            container_machines::import(&own, &images, &node.name, image).await?;
            say(&format!("{image} is in {}\n", node.name))?;
        }
    }
    Ok(())
}
