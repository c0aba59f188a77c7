//! The command line of `firstlight`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::backup::{BackupOptions, RestoreOptions, VerifyOptions};
use crate::commands::controllers::ControllersOptions;
use crate::commands::image::ImageOptions;
use crate::commands::inspect::{KubeconfigOptions, StatusOptions, VersionOptions};
use crate::commands::metal::Metal;
use crate::commands::pivot::{MoveOptions, PivotOptions};
use crate::commands::serve::ServeOptions;
use crate::commands::stop::StopOptions;
use crate::commands::up::UpOptions;
use crate::commands::verbs::Verb;
use crate::commands::verbs::tools::GlobalOptions;
use crate::commands::wait::WaitOptions;

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
        after_help = "Examples:\n  firstlight up -f examples/first-cluster.yaml\n  firstlight up -f clusters/ --wait 10m --exit\n  cat cluster.yaml | firstlight up -f -"
    )]
    Up(UpOptions),
    /// Start everything without the live view: for systemd, containers and tests
    #[command(
        after_help = "Example:\n  firstlight serve --detach && kubectl apply -f cluster.yaml && firstlight wait --timeout 10m; firstlight stop"
    )]
    Serve(ServeOptions),
    /// Wait until the clusters of a running server are Available, or have all their machines
    Wait(WaitOptions),
    /// Stop the server of the data directory
    Stop(StopOptions),
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

impl Cli {
    /// Checks the combinations of options that clap cannot check.
    ///
    /// # Errors
    /// The message about the invalid combination.
    pub fn check(&self) -> Result<(), String> {
        match &self.command {
            Command::Up(options) => options.server.features().map(drop),
            Command::Serve(options) => options.server.features().map(drop),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use schemas::admission::Features;

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
            options.server.features()
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
