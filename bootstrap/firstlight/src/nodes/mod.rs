//! Real nodes on this machine: what their controllers run them with.

mod itself;
mod load;
mod options;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use container_images::{Client, Credentials, Hosts, Registries, Sources};
use container_machines::{Nodes, Parts};
use machinery::clock::Clock;
use machinery::random::Random;
use node_balancer::Contained;
use node_images::NodeImages;
use node_runtime::groups::{self, Version};
use node_runtime::{Own, Range};
use system_containers::{Images, Runtime};

use crate::data_directory::DataDirectory;

pub use options::{NodeOptions, NodeRuntime};

/// The folder of nodes in a data directory.
const FOLDER: &str = "nodes";
/// The folder of their images in it.
const IMAGES: &str = "images";

/// Where nodes are, and what they are made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of everything that is made for nodes.
    pub folder: PathBuf,
    /// The addresses of nodes. If there are none, a range is chosen that nothing on this machine uses.
    pub range: Option<Range>,
    /// Folders and archives with images.
    pub images: Vec<PathBuf>,
    /// The folder with mirrors and authorities of registries.
    pub registry_hosts: Option<PathBuf>,
}

impl Settings {
    /// Returns the settings for the nodes of a data directory.
    pub fn new(
        directory: &DataDirectory,
        options: &NodeOptions,
        images: &[PathBuf],
        registry_hosts: Option<&PathBuf>,
    ) -> Self {
        Self {
            folder: directory.path().join(FOLDER),
            range: options.node_network,
            images: images.to_vec(),
            registry_hosts: registry_hosts.cloned(),
        }
    }

    /// Opens the runtime.
    ///
    /// # Errors
    /// Its folder cannot be used.
    pub async fn runtime(&self, clock: &Clock, random: &Random) -> Result<Own> {
        let (data, range) = (self.folder.clone(), self.range);
        let (clock, random) = (clock.clone(), random.clone());
        Own::open(node_runtime::Options { data, range, clock, random, steps: |_, _| {} }).await
    }

    /// Opens the images. That of this program is one of them, under its default name.
    ///
    /// # Errors
    /// This process is not root's, or their folder cannot be used.
    pub fn images(&self, clock: &Clock) -> Result<impl Images + use<>> {
        let client = Client::new(Hosts::new(self.registry_hosts.clone()), clock.clone());
        let images = NodeImages::open(node_images::Options {
            data: self.folder.join(IMAGES),
            sources: Sources::new(self.images.clone()),
            registries: Arc::new(Registries::new(client)),
            credentials: Credentials::of_this_user(),
            clock: clock.clone(),
        })?;
        Ok(itself::WithItself::new(images))
    }
}

/// Returns whether a data directory has nodes.
pub fn are_in(directory: &Path) -> bool {
    let containers = std::fs::read_dir(directory.join(FOLDER).join("containers"));
    containers.is_ok_and(|mut containers| containers.next().is_some())
}

/// Returns the nodes of this machine. Nothing of the machine is changed before the first object needs a container.
pub fn nodes(settings: Settings, clock: &Clock, random: &Random) -> Nodes {
    let (clock, random) = (clock.clone(), random.clone());
    Nodes::new(move || open(settings.clone(), clock.clone(), random.clone()))
}

async fn open(settings: Settings, clock: Clock, random: Random) -> Result<Parts> {
    let runtime: Arc<dyn Runtime> = Arc::new(settings.runtime(&clock, &random).await?);
    container_machines::check(runtime.as_ref()).await?;
    Ok(Parts {
        images: Arc::new(settings.images(&clock)?),
        balancers: Arc::new(Contained::new(runtime.clone(), &settings.folder)?),
        has_cgroups_v1: groups::version()? == Version::One,
        runtime,
    })
}
