//! Options of a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemas::admission::{Features, Gates};

use super::DirectoryOptions;
use crate::controllers::{self, Selection};
use crate::netboot::NetbootOptions;

/// Options of `serve`, and of `up`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Address to listen on; port 0 chooses a free port. The default accepts connections only from this machine
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    pub listen: std::net::SocketAddr,
    /// Address under which Pods and other machines reach this server, for the Service `default/kubernetes` [default: that of --listen]
    ///
    /// Without this flag, if --listen is loopback or all addresses, the Service has no Endpoints.
    #[arg(long, value_name = "ADDR")]
    pub advertise_address: Option<std::net::IpAddr>,
    /// File for the administrator's kubeconfig [default: <data-dir>/kubeconfig]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Also merge this kubeconfig into your own ($KUBECONFIG, or ~/.kube/config), and make its context `firstlight` the current one
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
    /// Feature gates of Cluster API, in the syntax of upstream's managers: ClusterTopology=true,MachinePool=false
    ///
    /// May be repeated. Upstream's defaults apply, but gates of controllers that do not run here (--controllers) are on, because the
    /// program that runs those controllers decides.
    #[arg(long, value_name = "GATE=true|false,…")]
    pub feature_gates: Vec<Gates>,
    /// Starting machines over the network.
    #[command(flatten)]
    pub netboot: NetbootOptions,
}

impl ServerOptions {
    /// Returns the features that `--feature-gates` and `--controllers` select.
    ///
    /// # Errors
    /// A feature gate that none of the running controllers implements.
    pub fn features(&self) -> Result<Features, String> {
        let running = self.controllers.names();
        let asked = self.feature_gates.iter().fold(Gates::default(), Gates::and);
        match asked.not_implemented(running).as_slice() {
            [] => Ok(Gates::left_to_others(running).and(&asked).features()),
            names => Err(format!(
                "--feature-gates: the controllers of this program do not implement {}: run upstream's managers, and this with \
                 --controllers none",
                names.join(", ")
            )),
        }
    }
}

/// The stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreChoice {
    /// In the data directory; survives a crash and a power cut
    Embedded,
    /// In memory; gone when the process ends
    Memory,
}
