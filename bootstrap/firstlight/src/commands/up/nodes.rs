//! What is left to do here after a pivot into a cluster whose nodes are on this machine: only this machine can make and remove them.

use std::path::Path;

use anyhow::{Context as _, Result};
use engine::Settings;
use machinery::clock::Clock;
use machinery::random::Random;
use server::connection::{client, manager_with};
use server::controllers::{self, Context, Selection};
use server::data_directory::DataDirectory;
use server::nodes;

use super::UpOptions;
use super::handover::{ITSELF, known_target};
use crate::output::say;
use crate::signals::Signals;

/// The family of the controllers of nodes.
const FAMILY: &str = "containers";

/// Runs the controllers of nodes against the cluster of these nodes, until the process is interrupted. The nodes go on without it.
///
/// # Errors
/// The cluster cannot be reached.
pub(super) async fn control_nodes(options: &UpOptions, folder: &Path, signals: &mut Signals) -> Result<()> {
    let kubeconfig =
        known_target(Path::new(ITSELF), folder)?.context("the cluster has no kubeconfig here")?;
    let (server, directory) = (&options.server, DataDirectory::locate(Some(folder))?);
    let (images, hosts) = (&server.container_images, server.registry_hosts.as_ref());
    let settings = nodes::Settings::new(&directory, &server.nodes, images, hosts);
    let client = client(&kubeconfig).await?;
    let nodes = nodes::nodes_of_cluster(settings, &client, &Clock::system(), &Random::system());
    let manager = manager_with(client, Settings::default());
    let context = Context { nodes: Some(nodes), ..Context::new(&manager) };
    controllers::start(&context, &Selection::all().only(FAMILY));
    say(&format!(
        "Its nodes are on this machine, so this process goes on as their controller. The same later:\n  \
         firstlight controllers --controllers {FAMILY} --kubeconfig {} --data-dir {}\n",
        kubeconfig.display(),
        folder.display()
    ))?;
    signals.next().await;
    manager.stop().await;
    say("\nStopping. The nodes go on; none is made or removed without their controller.\n")
}
