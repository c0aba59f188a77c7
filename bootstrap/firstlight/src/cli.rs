//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use schemas::admission::{Features, Gates};

use crate::commands::backup::{BackupOptions, RestoreOptions, VerifyOptions};
use crate::commands::image::ImageOptions;
use crate::commands::metal::Metal;
use crate::commands::pivot::{MoveOptions, PivotOptions};
use crate::commands::verbs::{GlobalOptions, Verb};
use crate::controllers::{self, Selection};
use crate::diagnostics::DiagnosticsOptions;
use crate::install::InstallOptions;
use crate::netboot::NetbootOptions;

/// Brings up a first Cluster API management cluster, out of one binary.
///
/// No Docker, no kind, no cert-manager: `firstlight up -f cluster.yaml` starts a Kubernetes-compatible API server with
/// Cluster API controllers in the same process, applies the file and shows the cluster until it is Available. Which kinds
/// have a controller, and which are only stored, is in `firstlight up --help` (--controllers).
#[derive(Debug, Parser)]
#[command(
    name = "firstlight",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options of clusterctl's verbs.
    #[command(flatten)]
    pub clusterctl: GlobalOptions,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start everything, apply manifests, and show the clusters until they are Available
    ///
    /// Ctrl-C stops; the next `up` on the same data directory goes on where it was.
    #[command(
        after_help = "Examples:\n  firstlight up -f examples/first-cluster.yaml\n  firstlight up -f clusters/ --wait 10m --exit-when-available\n  cat cluster.yaml | firstlight up -f -"
    )]
    Up(UpOptions),
    /// Start everything without the live view: for systemd, containers and tests
    Serve(ServerOptions),
    /// Run the controllers alone, against the cluster of a kubeconfig
    Controllers(ControllersOptions),
    /// Fill a directory with kube-apiserver and etcd for envtest (KUBEBUILDER_ASSETS)
    ///
    /// Both are this program, which answers to these names.
    #[command(after_help = "Example:\n  eval $(firstlight envtest bin/envtest) && go test ./...")]
    Envtest {
        /// The directory; it is made where it does not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Hand everything over to another management cluster: journaled, verified, resumable
    ///
    /// The source is paused, every object is copied with its status, read back and compared, then the target takes over and the source
    /// is emptied. Interrupted anywhere, it goes on with --resume, or back with --roll-back until the target has taken over.
    #[command(
        after_help = "Examples:\n  firstlight pivot --to-kubeconfig real.kubeconfig --dry-run\n  firstlight pivot --to-kubeconfig real.kubeconfig\n  firstlight pivot --kubeconfig broken.kubeconfig --to-kubeconfig ~/.local/share/firstlight/kubeconfig"
    )]
    Pivot(PivotOptions),
    /// Move the Cluster API objects of a namespace to another management cluster, with clusterctl's flags
    Move(MoveOptions),
    /// Print the path of the kubeconfig, or with --raw its content
    Kubeconfig(KubeconfigOptions),
    /// Show whether a server runs on the data directory, and the clusters it has
    Status(StatusOptions),
    /// Write everything of a data directory into one file, while its server runs or not
    ///
    /// The file holds every object at one moment, with the keys of the certificate authority and of tokens: keep it as you keep keys.
    #[command(
        after_help = "Examples:\n  firstlight backup /var/backups/firstlight-$(date +%F)\n  firstlight backup - | ssh vault 'cat > firstlight.backup'"
    )]
    Backup(BackupOptions),
    /// Make a data directory of a backup
    ///
    /// Objects have the UIDs and resourceVersions that they had. Clients that saw later changes are told to read anew. If its clusters
    /// were handed over after the backup was taken, do not start it beside the server that has them now.
    #[command(
        after_help = "Example:\n  firstlight restore /var/backups/firstlight-2026-11-22 --data-dir restored"
    )]
    Restore(RestoreOptions),
    /// Check that a data directory, or a backup, is whole
    #[command(
        after_help = "Examples:\n  firstlight verify\n  firstlight verify /var/backups/firstlight-2026-11-22"
    )]
    Verify(VerifyOptions),
    /// Bare metal: hosts and the machines that become hosts
    #[command(subcommand)]
    Metal(Metal),
    /// clusterctl's verbs
    #[command(flatten)]
    Verb(Verb),
    /// Print the version
    Version(VersionOptions),
    /// Write a container image of this program: an OCI archive, made without any tool
    #[command(after_help = "Example:\n  firstlight image -o - | podman load")]
    Image(ImageOptions),
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Where the server keeps its data.
#[derive(Debug, Clone, Args)]
pub struct DirectoryOptions {
    /// Directory for all state [default: $XDG_DATA_HOME/firstlight, as root /var/lib/firstlight]
    #[arg(long, value_name = "DIR", env = "FIRSTLIGHT_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
}

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
    /// What `--feature-gates` and `--controllers` say together.
    ///
    /// # Errors
    /// A gate that the controllers which run do not implement.
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

impl Cli {
    /// What clap does not see of the command line: options that do not go together.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        match &self.command {
            Command::Up(options) => options.server.features().map(drop),
            Command::Serve(options) => options.features().map(drop),
            _ => Ok(()),
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

/// Options of `up`.
#[derive(Debug, Clone, Args)]
pub struct UpOptions {
    /// Options shared with `serve`.
    #[command(flatten)]
    pub server: ServerOptions,
    /// Manifest to apply: a file, a folder of .yaml, .yml and .json files, or - for standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// Give up when the clusters are not Available after this time, as 90s, 10m or 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait: Option<std::time::Duration>,
    /// Stop, with exit code 0, as soon as every cluster is Available
    #[arg(long)]
    pub exit_when_available: bool,
    /// Hand everything over to the cluster of this kubeconfig as soon as every cluster is Available, then stop, as `firstlight pivot` does
    #[arg(long, value_name = "KUBECONFIG", conflicts_with = "exit_when_available")]
    pub pivot_to: Option<PathBuf>,
    /// What is installed there.
    #[command(flatten)]
    pub install: InstallOptions,
}

impl UpOptions {
    /// Whether it was started as a server alone: there is nothing to wait for until somebody applies a Cluster.
    pub fn wants_nothing(&self) -> bool {
        self.filename.is_empty()
            && self.wait.is_none()
            && !self.exit_when_available
            && self.pivot_to.is_none()
    }
}

/// Options of `controllers`.
#[derive(Debug, Clone, Args)]
pub struct ControllersOptions {
    /// Kubeconfig of the cluster to control [default: in a pod, its service account]
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The controllers that run.
    #[arg(long, value_name = "all|none|LIST", default_value = "all", help = controllers::short_help(), long_help = controllers::help())]
    pub controllers: Selection,
    /// What is shown of them.
    #[command(flatten)]
    pub diagnostics: DiagnosticsOptions,
}

/// Options of `kubeconfig`.
#[derive(Debug, Clone, Args)]
pub struct KubeconfigOptions {
    /// Where the data is.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Print the content instead of the path; it holds a private key
    #[arg(long)]
    pub raw: bool,
}

/// Options of `status`.
#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// Where the data is.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Form of the output
    #[command(flatten)]
    pub output: OutputOptions,
}

/// `-o`.
#[derive(Debug, Clone, Args)]
pub struct OutputOptions {
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
}

/// Options of `version`.
#[derive(Debug, Clone, Args)]
pub struct VersionOptions {
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub output: Option<VersionOutput>,
}

/// Forms of `version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VersionOutput {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// The number alone, as `clusterctl version -o short` prints it
    Short,
}

/// Forms of output for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    machinery::duration::parse(text)
        .ok_or_else(|| format!("{text:?} is not a duration; write 90s, 10m or 1h30m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn feature_gates_go_with_the_controllers() {
        let features = |arguments: &[&str]| {
            let cli = Cli::try_parse_from(["firstlight", "serve"].iter().chain(arguments))
                .map_err(|error| error.to_string())?;
            let Command::Serve(options) = cli.command else { return Err("not serve".to_owned()) };
            options.features()
        };
        let on = ["--feature-gates", "ClusterTopology=true"];
        let none = ["--controllers", "none"];
        assert_eq!(features(&[]), Ok(Features::default()));
        assert!(
            features(&on).unwrap_err().contains("do not implement ClusterTopology: run upstream's managers")
        );
        assert!(features(&none).unwrap().cluster_topology, "whoever runs the controllers decides");
        assert!(features(&[on, none].concat()).unwrap().cluster_topology);
        let off = ["--feature-gates", "ClusterTopology=false", "--feature-gates=MachinePool=false"];
        let both = features(&[off.as_slice(), &none].concat()).unwrap();
        assert!(!both.cluster_topology && !both.machine_pool && both.runtime_sdk);
        assert!(
            features(&["--feature-gates", "Topology=true"])
                .unwrap_err()
                .contains("there are ClusterResourceSet, ")
        );
    }
}
