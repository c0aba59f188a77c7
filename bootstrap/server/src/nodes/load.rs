//! Container images in nodes.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use container_machines::names::{cluster_of, is_balancer};
use machinery::clock::Clock;
use machinery::random::Random;
use system_containers::{Container, State};

use super::{Choice, Settings};

impl Settings {
    /// Imports each of these images into each node that runs, or only into those of the clusters called `cluster`. `done` is told what is where.
    ///
    /// # Errors
    /// No such node runs, an image is nowhere, or a node refuses it.
    pub async fn load(
        &self,
        names: &[String],
        cluster: Option<&str>,
        done: impl Fn(&str) -> Result<()>,
    ) -> Result<()> {
        let clock = Clock::system();
        let choice = Choice::remembered(&self.folder)?.unwrap_or(Choice::Own);
        let opened = self.open(choice, &clock, &Random::system()).await?;
        let (runtime, images) = (opened.runtime(), opened.images(self, &clock)?);
        let is_wanted = |container: &Container| {
            container.state == State::Running
                && !is_balancer(container)
                && cluster.is_none_or(|cluster| cluster_of(container) == cluster)
        };
        let mut nodes = runtime.list(&BTreeMap::new()).await?;
        nodes.retain(is_wanted);
        ensure!(!nodes.is_empty(), "no node runs that could take an image");
        for name in names {
            for node in &nodes {
                container_machines::import(runtime.as_ref(), images.as_ref(), &node.name, name).await?;
                done(&format!("{name} is in {}\n", node.name))?;
            }
        }
        Ok(())
    }
}
