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
    /// Network of these nodes, as 10.93.7.0/24 [default: one below 10.93.0.0/16 that this machine does not use]
    #[arg(long, value_name = "CIDR")]
    pub node_network: Option<Range>,
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
    /// The best that this machine has
    Auto,
    /// This program itself, as root
    Own,
    /// Nothing: such machines are left to another provider
    None,
}
