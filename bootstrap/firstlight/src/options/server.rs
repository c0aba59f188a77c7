//! Options of a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemas::admission::{Features, Gates};

use super::DirectoryOptions;
use crate::controllers::{self, Selection};
use crate::netboot::NetbootOptions;

/// Options of `serve`, and of `up`.
#[derive(Debug, Clone, Args)]
pub struct ServerOptions {
    /// Where the data is.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Address to listen on; port 0 takes any free one. Only loopback unless you say otherwise
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    pub listen: std::net::SocketAddr,
    /// Address under which Pods and other machines reach this server, for the Service `default/kubernetes` [default: that of --listen]
    ///
    /// Without one, and listening on loopback or on all addresses, the Service leads nowhere: it has no Endpoints.
    #[arg(long, value_name = "ADDR")]
    pub advertise_address: Option<std::net::IpAddr>,
    /// Where to write the administrator's kubeconfig [default: <data-dir>/kubeconfig]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// How objects are stored
    #[arg(long, value_enum, default_value_t = StoreChoice::Embedded)]
    pub store: StoreChoice,
    /// Bytes that objects and their history may take; beyond, only deletions and what makes nothing larger is taken, as by etcd
    #[arg(long, value_name = "BYTES", default_value_t = store::limits::QUOTA_BYTES)]
    pub quota_backend_bytes: u64,
    /// Start although the clusters of this directory were handed over by a pivot; its journal is set aside
    #[arg(long)]
    pub start_afresh: bool,
    /// The controllers that run.
    #[arg(long, value_name = "all|none|LIST", default_value = "all", help = controllers::short_help(), long_help = controllers::help())]
    pub controllers: Selection,
    /// Optional parts of Cluster API that are served, as upstream's managers take it: ClusterTopology=true,MachinePool=false
    ///
    /// May be repeated. Upstream's defaults apply; what needs controllers that do not run here (--controllers) is on, since whoever
    /// runs them decides.
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
