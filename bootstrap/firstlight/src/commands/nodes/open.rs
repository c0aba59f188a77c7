//! Opens the nodes of a data directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use container_machines::names::cluster_of;
use machinery::clock::Clock;
use machinery::random::Random;
use server::data_directory::DataDirectory;
use server::nodes::{Choice, NodeOptions, Opened, Settings};
use server::options::DirectoryOptions;
use system_containers::{Container, Runtime};

/// Opens what runs the nodes of a data directory.
pub(super) async fn open(options: &DirectoryOptions) -> Result<Arc<dyn Runtime>> {
    Ok(opened(&settings(options, &[], None)?).await?.runtime())
}

/// Opens what runs the nodes of a data directory: what was chosen there, or this program itself.
pub(super) async fn opened(settings: &Settings) -> Result<Opened> {
    let choice = Choice::remembered(&settings.folder)?.unwrap_or(Choice::Own);
    settings.open(choice, &Clock::system(), &Random::system()).await
}

/// Returns the settings of a data directory, with these images.
///
/// # Errors
/// There is no such directory, or it is another user's.
pub(super) fn settings(
    options: &DirectoryOptions,
    images: &[PathBuf],
    registry_hosts: Option<&PathBuf>,
) -> Result<Settings> {
    let directory = DataDirectory::locate(options.data_dir.as_deref())?;
    ensure!(
        directory.path().is_dir(),
        "{} does not exist, or is another user's: name the data directory of the server with --data-dir, or run this command with sudo as the server",
        directory.path().display()
    );
    Ok(Settings::new(&directory, &NodeOptions::default(), images, registry_hosts))
}

/// Returns the node of this name.
///
/// # Errors
/// There is none; the error says which there are.
pub(super) async fn find(runtime: &dyn Runtime, name: &str) -> Result<Container> {
    match runtime.inspect(name).await? {
        Some(container) => Ok(container),
        None => bail!(no_node(name, &runtime.list(&BTreeMap::new()).await?)),
    }
}

/// Says that no node has this name, and which there are.
pub(super) fn no_node(name: &str, all: &[Container]) -> String {
    let names: Vec<&str> = all.iter().map(|container| container.name.as_str()).collect();
    match names.as_slice() {
        [] => format!("there is no node called {name}: this data directory has none"),
        names => format!("there is no node called {name}; there are {}", names.join(", ")),
    }
}

/// Returns the nodes and the load balancers of the clusters of this name.
///
/// # Errors
/// There are none.
pub(super) async fn of_cluster(runtime: &dyn Runtime, cluster: &str) -> Result<Vec<Container>> {
    let mut all = runtime.list(&BTreeMap::new()).await?;
    all.retain(|container| cluster_of(container) == cluster);
    ensure!(!all.is_empty(), "no node on this machine belongs to a cluster called {cluster}");
    Ok(all)
}
