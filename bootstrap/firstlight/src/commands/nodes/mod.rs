//! `firstlight nodes`: the nodes of clusters on this machine, and their load balancers.

mod exec;
mod forward;
mod list;
mod load;
mod open;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand};
use server::options::DirectoryOptions;
use system_containers::{Runtime, State};

use self::open::{find, no_node, of_cluster, open, settings};
use crate::output::OutputOptions;
use crate::output::{say, tell};

/// How long a node may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(20);
/// The most bytes of a console that are printed.
const CONSOLE: usize = 8 << 20;

/// The commands of `firstlight nodes`.
#[derive(Debug, Clone, Subcommand)]
pub enum NodesCommand {
    /// List the nodes of this data directory: their clusters, addresses and states
    List(ListOptions),
    /// Print what a node has written to its console
    Logs(NodeName),
    /// Run a program in a node, as root
    #[command(after_help = "Example:\n  firstlight nodes exec first-cp-x7k2m -- crictl ps")]
    Exec(ExecOptions),
    /// Freeze nodes
    Pause(NodeNames),
    /// Let frozen nodes go on
    Resume(NodeNames),
    /// Start nodes that have ended, for example with the machine
    Start(NodeNames),
    /// Stop nodes; their disks stay
    Stop(NodeNames),
    /// Remove nodes and everything that was made of this machine for them
    ///
    /// A machine of a Cluster is deleted with kubectl: then its Node is drained before. This command is for what nobody manages any more.
    Delete(NodeNames),
    /// Import container images into nodes, so that their Pods need no registry
    #[command(
        after_help = "Example:\n  firstlight nodes load web:1 --container-images web.tar --cluster first"
    )]
    Load(LoadOptions),
    /// Let ports of this machine lead to nodes, until this command ends
    #[command(
        after_help = "Example: the Service with the node port 30080, at http://127.0.0.1:8080\n  firstlight nodes forward 8080:30080 --cluster first"
    )]
    Forward(forward::ForwardOptions),
    /// Say what hinders nodes on this machine
    Check(ListOptions),
}

/// Options of `nodes list`.
#[derive(Debug, Clone, Args)]
pub struct ListOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// The name of a node.
#[derive(Debug, Clone, Args)]
pub struct NodeName {
    /// Name of the node
    #[arg(value_name = "NODE")]
    pub name: String,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// The names of nodes.
#[derive(Debug, Clone, Args)]
pub struct NodeNames {
    /// Names of the nodes
    #[arg(value_name = "NODE", required_unless_present_any = ["all", "cluster"])]
    pub names: Vec<String>,
    /// All nodes and load balancers
    #[arg(long, conflicts_with_all = ["names", "cluster"])]
    pub all: bool,
    /// All nodes and the load balancer of the clusters of this name
    #[arg(long, value_name = "NAME", conflicts_with = "names")]
    pub cluster: Option<String>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Options of `nodes exec`.
#[derive(Debug, Clone, Args)]
pub struct ExecOptions {
    /// Name of the node
    #[arg(value_name = "NODE")]
    pub name: String,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Options of `nodes load`.
#[derive(Debug, Clone, Args)]
pub struct LoadOptions {
    /// Names of the images
    #[arg(value_name = "IMAGE", required = true)]
    pub images: Vec<String>,
    /// Folder or archive with images: archives of `docker save`, OCI layouts and archives, bundles
    #[arg(long, value_name = "PATH")]
    pub container_images: Vec<PathBuf>,
    /// Folder with mirrors and authorities of registries, in containerd's form: REGISTRY/hosts.toml
    #[arg(long, value_name = "DIR")]
    pub registry_hosts: Option<PathBuf>,
    /// Only nodes of the clusters of this name
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// Runs a command of `firstlight nodes`. It needs no server: nodes go on without one.
///
/// # Errors
/// There is no such node, this process may not do it, or it fails; the error says why.
pub async fn run(command: NodesCommand) -> Result<()> {
    match command {
        NodesCommand::List(options) => list::run(&options).await,
        NodesCommand::Check(options) => list::check(&options).await,
        NodesCommand::Logs(node) => logs(&node).await,
        NodesCommand::Exec(options) => exec::run(&options).await,
        NodesCommand::Load(options) => load::run(&options).await,
        NodesCommand::Forward(options) => forward::run(&options).await,
        NodesCommand::Pause(nodes) => {
            each(&nodes, "paused", async |runtime, name| runtime.pause(name).await).await
        }
        NodesCommand::Resume(nodes) => {
            each(&nodes, "resumed", async |runtime, name| runtime.resume(name).await).await
        }
        NodesCommand::Start(nodes) => {
            each(&nodes, "started", async |runtime, name| runtime.start(name).await.map(drop)).await
        }
        NodesCommand::Stop(nodes) => {
            each(&nodes, "stopped", async |runtime, name| runtime.stop(name, GRACE).await).await
        }
        NodesCommand::Delete(nodes) => {
            let folder = settings(&nodes.directory, &[], None)?.folder;
            let delete =
                async |runtime: &dyn Runtime, name: &str| node_balancer::delete(runtime, &folder, name).await;
            each(&nodes, "deleted", delete).await
        }
    }
}

/// Does something with each of these nodes. One that fails does not keep the others from it.
async fn each(
    nodes: &NodeNames,
    done: &str,
    act: impl AsyncFn(&dyn Runtime, &str) -> Result<()>,
) -> Result<()> {
    let runtime = open(&nodes.directory).await?;
    let mut failed = 0;
    for name in names(runtime.as_ref(), nodes).await? {
        match act(runtime.as_ref(), &name).await {
            Ok(()) => say(&format!("{name} {done}\n"))?,
            Err(error) => {
                failed += 1;
                tell(&format!("Error: {error:#}"));
            }
        }
    }
    ensure!(failed == 0, "{failed} nodes were not {done}");
    Ok(())
}

async fn names(runtime: &dyn Runtime, nodes: &NodeNames) -> Result<Vec<String>> {
    let all = match &nodes.cluster {
        Some(cluster) => of_cluster(runtime, cluster).await?,
        None => runtime.list(&BTreeMap::new()).await?,
    };
    if nodes.all || nodes.cluster.is_some() {
        return Ok(all.into_iter().map(|container| container.name).collect());
    }
    for name in &nodes.names {
        if !all.iter().any(|container| container.name == *name) {
            bail!(no_node(name, &all));
        }
    }
    Ok(nodes.names.clone())
}

async fn logs(node: &NodeName) -> Result<()> {
    let runtime = open(&node.directory).await?;
    let container = find(runtime.as_ref(), &node.name).await?;
    if let State::Stopped { error: Some(error), .. } = &container.state {
        tell(&format!("the last start of {} failed: {error}", node.name));
    }
    let console = runtime.console(&node.name, CONSOLE).await?;
    say(&String::from_utf8_lossy(&console).replace('\r', ""))
}
