//! Real nodes on this machine: what their controllers run them with.

mod choice;
mod itself;
mod load;
mod open;
pub mod options;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use container_machines::{Nodes, Parts};
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use node_balancer::Contained;
use node_runtime::Range;

use crate::data_directory::DataDirectory;
use crate::image;
use crate::installed;

pub use choice::Choice;
pub use open::Opened;
pub use options::{NodeOptions, NodeRuntime};

/// The folder of nodes in a data directory.
pub const FOLDER: &str = "nodes";

/// Where nodes are, and what they are made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of everything that is made for nodes.
    pub folder: PathBuf,
    /// What runs them.
    pub runtime: NodeRuntime,
    /// The addresses of nodes. If there are none, a range is chosen that nothing on this machine uses.
    pub range: Option<Range>,
    /// The name of their network in Docker or Podman.
    pub docker_network: String,
    /// Folders and archives with images.
    pub images: Vec<PathBuf>,
    /// The folder with mirrors and authorities of registries.
    pub registry_hosts: Option<PathBuf>,
    /// Images that each new node gets, besides those that its machine names.
    pub preload: Vec<String>,
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
            runtime: options.node_runtime,
            range: options.node_network,
            docker_network: options.docker_network.clone(),
            images: images.to_vec(),
            registry_hosts: registry_hosts.cloned(),
            preload: Vec::new(),
        }
    }

    /// Returns the settings for nodes of a cluster that may run this program: no registry has its image, so each new node gets it from here.
    ///
    /// # Errors
    /// The cluster cannot be asked.
    async fn for_cluster(self, client: &Client) -> Result<Self> {
        let own = image::default_reference();
        let runs_it = installed::image(client).await?.is_some_and(|image| image == own);
        Ok(Self { preload: if runs_it { vec![own] } else { self.preload }, ..self })
    }
}

/// Returns whether a data directory has nodes.
pub fn are_in(directory: &Path) -> bool {
    let folder = directory.join(FOLDER);
    let containers = std::fs::read_dir(folder.join("containers"));
    let are_own = containers.is_ok_and(|mut containers| containers.next().is_some());
    // Docker was chosen when the first object needed a container.
    are_own || Choice::remembered(&folder).ok().flatten().is_some_and(|choice| choice != Choice::Own)
}

/// Returns the nodes of this machine. Nothing of the machine is changed before the first object needs a container.
pub fn nodes(settings: Settings, clock: &Clock, random: &Random) -> Nodes {
    let (clock, random) = (clock.clone(), random.clone());
    Nodes::new(move || parts(settings.clone(), clock.clone(), random.clone()))
}

/// Returns the nodes of this machine for a cluster that may run this program. The cluster is asked when the first object needs a container, and
/// again as long as it does not answer: its API server may come up later than this process, in one of these nodes.
pub fn nodes_of_cluster(settings: Settings, client: &Client, clock: &Clock, random: &Random) -> Nodes {
    let (client, clock, random) = (client.clone(), clock.clone(), random.clone());
    Nodes::new(move || {
        let (settings, client) = (settings.clone(), client.clone());
        let (clock, random) = (clock.clone(), random.clone());
        async move { parts(settings.for_cluster(&client).await?, clock, random).await }
    })
}

async fn parts(settings: Settings, clock: Clock, random: Random) -> Result<Parts> {
    let opened = settings.choose(&clock, &random).await?;
    opened.choice().remember(&settings.folder)?;
    let runtime = opened.runtime();
    Ok(Parts {
        images: opened.images(&settings, &clock)?,
        preload: settings.preload.clone(),
        balancers: Arc::new(Contained::new(runtime.clone(), &settings.folder)?),
        has_cgroups_v1: opened.has_cgroups_v1().await?,
        runtime,
    })
}
