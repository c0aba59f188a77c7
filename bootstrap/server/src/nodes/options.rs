//! Options for real nodes on this machine.

use clap::{Args, ValueEnum};
use node_runtime::Range;

use crate::controllers::Selection;

/// The family of the controllers of nodes.
const FAMILY: &str = "containers";

/// Options for real nodes on this machine.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Nodes on this machine")]
pub struct NodeOptions {
    /// What runs the nodes of clusters whose machines have `backend.docker`
    #[arg(long, value_enum, default_value_t = NodeRuntime::Auto)]
    pub node_runtime: NodeRuntime,
    /// Network of these nodes, as 10.93.7.0/24 [default: one that this machine does not use; without Docker and Podman below 10.93.0.0/16]
    #[arg(long, value_name = "CIDR")]
    pub node_network: Option<Range>,
    /// Name of their network in Docker or Podman, which is made if it does not exist
    #[arg(long, value_name = "NAME", default_value = node_docker::NETWORK)]
    pub docker_network: String,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            node_runtime: NodeRuntime::Auto,
            node_network: None,
            docker_network: node_docker::NETWORK.to_owned(),
        }
    }
}

impl NodeOptions {
    /// Returns whether nodes run here, if these controllers run.
    pub fn run_here(&self, controllers: &Selection) -> bool {
        self.node_runtime != NodeRuntime::None && controllers.names().contains(&FAMILY)
    }
}

/// What runs nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NodeRuntime {
    /// The one that runs those of this data directory; otherwise the first of the following that can
    Auto,
    /// This program itself, as root
    Own,
    /// Docker, at DOCKER_HOST or /var/run/docker.sock
    Docker,
    /// Podman's service of root, at CONTAINER_HOST or /run/podman/podman.sock
    Podman,
    /// Nothing: such machines are left to another provider
    None,
}
