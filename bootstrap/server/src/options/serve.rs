//! Options of a server.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use registry::ServiceRange;
use schemas::admission::Features;
use store::EngineKind;

use super::address::parse_listen;
use super::features::variable;
use super::{DirectoryOptions, FeatureOptions, LogOptions};
use crate::controllers::{self, Selection};
use crate::data_directory::{DataDirectory, SERVER_NAME_CHARACTERS, is_of_name};
use crate::netboot::NetbootOptions;
use crate::nodes::NodeOptions;

/// Options of `serve`, and of `up`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Name of this server; its context in a kubeconfig is firstlight-NAME [default: that of the data directory]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Address to listen on; port 0 chooses a free port. The default accepts connections only from this machine
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen, default_value = "127.0.0.1:6443")]
    pub listen: std::net::SocketAddr,
    /// Address under which Pods and other machines reach this server, for the Service `default/kubernetes` [default: that of --listen]
    ///
    /// Without this flag, if --listen is loopback or all addresses, the Service has no Endpoints.
    #[arg(long, value_name = "ADDR")]
    pub advertise_address: Option<std::net::IpAddr>,
    /// Range of the cluster IPs of Services. The Service `default/kubernetes` of a new data directory has its first address
    #[arg(long, value_name = "CIDR", value_parser = parse_service_range, default_value_t = ServiceRange::default())]
    pub service_cluster_ip_range: ServiceRange,
    /// File for the administrator's kubeconfig [default: <data-dir>/kubeconfig]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Also merge this kubeconfig into your own ($KUBECONFIG, or ~/.kube/config), and make its context the current one, until the server ends
    #[arg(long)]
    pub merge_kubeconfig: bool,
    /// Storage of objects
    #[arg(long, value_enum, default_value_t = StoreChoice::Embedded)]
    pub store: StoreChoice,
    /// Limit in bytes for objects and their history; above it, only deletions and updates that do not enlarge objects are accepted
    #[arg(long, value_name = "BYTES", default_value_t = store::limits::QUOTA_BYTES)]
    pub quota_backend_bytes: u64,
    /// Start even though a pivot has handed over the clusters of this directory; the journal of the pivot is renamed
    #[arg(long)]
    pub start_afresh: bool,
    /// The controllers that run.
    #[arg(long, value_name = "all|none|LIST", default_value = "all", help = controllers::short_help(), long_help = controllers::help())]
    pub controllers: Selection,
    /// Folder or archive with the images of nodes and the container images of providers: archives of `docker save`, OCI layouts and archives, bundles
    #[arg(long, value_name = "PATH")]
    pub container_images: Vec<PathBuf>,
    /// Folder with mirrors and authorities of registries, in containerd's form: REGISTRY/hosts.toml
    #[arg(long, value_name = "DIR")]
    pub registry_hosts: Option<PathBuf>,
    /// The path or address of clusterctl's configuration, from the global option `--config`.
    #[arg(skip)]
    pub clusterctl: Option<String>,
    /// How far the processes of providers are separated from this machine, for tests; by itself, as far as this machine allows
    #[arg(long, value_enum, default_value_t = ContainerIsolation::Auto, hide = true)]
    pub container_isolation: ContainerIsolation,
    /// The log.
    #[command(flatten)]
    pub log: LogOptions,
    /// The feature gates.
    #[command(flatten)]
    pub features: FeatureOptions,
    /// Real nodes on this machine.
    #[command(flatten)]
    pub nodes: NodeOptions,
    /// Starting machines over the network.
    #[command(flatten)]
    pub netboot: NetbootOptions,
}

impl ServerOptions {
    /// Returns the name of the server.
    pub fn server_name(&self, directory: &DataDirectory) -> String {
        self.name.clone().unwrap_or_else(|| directory.name())
    }

    /// Returns the name of the server's entries in a kubeconfig.
    pub fn context(&self, directory: &DataDirectory) -> String {
        format!("firstlight-{}", self.server_name(directory))
    }

    /// Returns the features that are on.
    ///
    /// # Errors
    /// See [`FeatureOptions::features`].
    pub fn features(&self) -> Result<Features, String> {
        self.features.features(variable)
    }
}

/// Reads the name of a server.
fn parse_name(text: &str) -> Result<String, String> {
    let begins = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    match begins && text.len() <= SERVER_NAME_CHARACTERS && text.chars().all(is_of_name) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "write at most {SERVER_NAME_CHARACTERS} letters, digits, dashes, underscores and dots, beginning with a letter or a digit"
        )),
    }
}

/// Reads the range of cluster IPs, with the checks of kube-apiserver. Two ranges are refused, because Services have addresses of one family.
fn parse_service_range(text: &str) -> Result<ServiceRange, String> {
    let ranges: Vec<&str> = text.split(',').collect();
    for (index, range) in ranges.iter().enumerate() {
        let parts =
            range.split_once('/').map(|(address, bits)| (address.parse::<IpAddr>(), bits.parse::<u8>()));
        let Some((Ok(address), Ok(bits))) = parts else {
            return Err(format!("service-cluster-ip-range[{index}] is not a valid cidr"));
        };
        let all = if address.is_ipv4() { 32 } else { 128 };
        if bits > all {
            return Err(format!("service-cluster-ip-range[{index}] is not a valid cidr"));
        }
        if all - bits < 3 {
            return Err("the service cluster IP range must be at least 8 IP addresses".to_owned());
        }
    }
    match ranges.as_slice() {
        [range] => range.parse(),
        [_, _] => Err("Services have addresses of one family here; give one range".to_owned()),
        _ => Err("--service-cluster-ip-range must not contain more than two entries".to_owned()),
    }
}

/// The stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreChoice {
    /// In the data directory; survives a crash and a power cut
    Embedded,
    /// In the data directory, with sled instead of redb
    #[cfg(feature = "sled")]
    Sled,
    /// In memory; gone when the process ends
    Memory,
}

impl StoreChoice {
    /// Returns the engine of the store.
    pub fn engine(self) -> EngineKind {
        match self {
            Self::Embedded => EngineKind::Embedded,
            #[cfg(feature = "sled")]
            Self::Sled => EngineKind::Sled,
            Self::Memory => EngineKind::Memory,
        }
    }
}

/// The separations of the processes of providers from this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContainerIsolation {
    /// The strongest that this machine allows
    Auto,
    /// Namespaces, made by root
    Root,
    /// User namespaces
    User,
    /// None
    None,
}
