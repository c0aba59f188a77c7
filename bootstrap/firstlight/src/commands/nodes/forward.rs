//! `firstlight nodes forward`: ports of this machine that lead to nodes.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use container_machines::names::is_balancer;
use machinery::clock::Clock;
use server::options::DirectoryOptions;
use system_containers::{Container, Runtime, State};
use tokio::net::{TcpListener, TcpStream};

use super::open::{find, of_cluster, open};
use crate::output::{say, tell};

/// How long a node may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Options of `nodes forward`.
#[derive(Debug, Clone, Args)]
pub struct ForwardOptions {
    /// Port of this machine, and the port of the nodes if it is another one
    #[arg(value_name = "PORT[:NODE-PORT]", required = true)]
    pub ports: Vec<Ports>,
    /// The nodes of the clusters of this name: each connection goes to one that runs
    #[arg(long, value_name = "NAME", required_unless_present = "node", conflicts_with = "node")]
    pub cluster: Option<String>,
    /// One node
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Address of this machine to listen on; 0.0.0.0 lets other machines in
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub address: IpAddr,
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
}

/// A port of this machine, and the one of the nodes to which it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    here: u16,
    node: u16,
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (here, node) = text.split_once(':').unwrap_or((text, text));
        let port = |part: &str| match part.parse() {
            Ok(port) if port > 0 => Ok(port),
            _ => Err(format!("{part:?} is not a port; write 8080 or 8080:30080")),
        };
        Ok(Self { here: port(here)?, node: port(node)? })
    }
}

/// Forwards connections until this process ends.
pub(super) async fn run(options: &ForwardOptions) -> Result<()> {
    let runtime = open(&options.directory).await?;
    let target = match (&options.node, &options.cluster) {
        (Some(node), _) => Target::Node(node.clone()),
        (None, cluster) => Target::Cluster(cluster.clone().unwrap_or_default()),
    };
    let target = Arc::new(target);
    target.address(runtime.as_ref()).await?;
    let mut listeners = Vec::new();
    for ports in &options.ports {
        let address = SocketAddr::new(options.address, ports.here);
        let listener = TcpListener::bind(address).await;
        listeners.push((listener.with_context(|| format!("cannot listen on {address}"))?, *ports));
    }
    let tasks = listeners.into_iter().map(|(listener, ports)| {
        let (runtime, target) = (Arc::clone(&runtime), Arc::clone(&target));
        async move {
            let address = listener.local_addr()?;
            say(&format!("{address} leads to port {} of {target}\n", ports.node))?;
            forward(listener, ports.node, runtime, target).await
        }
    });
    futures::future::try_join_all(tasks).await.map(drop)
}

/// Accepts connections. Each looks for its node, because a cluster gets other nodes while this command runs.
async fn forward(
    listener: TcpListener,
    port: u16,
    runtime: Arc<dyn Runtime>,
    target: Arc<Target>,
) -> Result<()> {
    loop {
        let (mut near, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // For example too many open files: connections that end make room.
                tell(&format!("A connection cannot be accepted: {error}"));
                Clock::system().sleep(PAUSE).await;
                continue;
            }
        };
        let (runtime, target) = (Arc::clone(&runtime), Arc::clone(&target));
        drop(tokio::spawn(async move {
            let connected = async {
                let address = target.address(runtime.as_ref()).await?;
                let far = tokio::time::timeout(CONNECT, TcpStream::connect((address, port))).await;
                let cannot = || format!("cannot connect to {address}:{port}");
                far.map_err(anyhow::Error::from).and_then(|far| Ok(far?)).with_context(cannot)
            };
            match connected.await {
                Ok(mut far) => drop(tokio::io::copy_bidirectional(&mut near, &mut far).await),
                Err(error) => tell(&format!("The connection of {client} is closed: {error:#}")),
            }
        }));
    }
}

/// Where connections lead.
#[derive(Debug)]
enum Target {
    /// To the node of this name.
    Node(String),
    /// To a node of the clusters of this name.
    Cluster(String),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(node) => f.write_str(node),
            Self::Cluster(cluster) => write!(f, "the nodes of {cluster}"),
        }
    }
}

impl Target {
    /// Returns the address of a node that runs.
    async fn address(&self, runtime: &dyn Runtime) -> Result<IpAddr> {
        let running = |container: &Container| matches!(container.state, State::Running);
        let node = match self {
            Self::Node(node) => Some(find(runtime, node).await?).filter(running),
            Self::Cluster(cluster) => {
                let all = of_cluster(runtime, cluster).await?;
                all.into_iter().find(|container| running(container) && !is_balancer(container))
            }
        };
        Ok(node.with_context(|| format!("none runs: {self}"))?.address.into())
    }
}
