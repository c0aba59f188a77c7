//! The command line of `firstlight`.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use server::options::features::variable;

use crate::commands::backup::{BackupOptions, RestoreOptions, VerifyOptions};
use crate::commands::bundle::BundleCommand;
use crate::commands::class::ClassCommand;
use crate::commands::controllers::ControllersOptions;
use crate::commands::image::ImageOptions;
use crate::commands::inspect::{KubeconfigOptions, VersionOptions};
use crate::commands::list::ListOptions;
use crate::commands::logs::LogsOptions;
use crate::commands::metal::Metal;
use crate::commands::nodes::NodesCommand;
use crate::commands::pivot::{MoveOptions, PivotOptions};
use crate::commands::plan::PlanOptions;
use crate::commands::serve::ServeOptions;
use crate::commands::status::StatusOptions;
use crate::commands::stop::StopOptions;
use crate::commands::undo::UndoCommand;
use crate::commands::up::UpOptions;
use crate::commands::verbs::Verb;
use crate::commands::verbs::tools::GlobalOptions;
use crate::commands::wait::WaitOptions;
use crate::tree::screen;

/// Brings up a first Cluster API management cluster, out of one binary.
///
/// No Docker, no kind, no cert-manager: `firstlight up -f cluster.yaml` starts a Kubernetes-compatible API server with
/// Cluster API controllers in the same process, applies the file and shows the cluster until it is Available.
/// `firstlight up --help` lists the kinds that have a controller, and those that are only stored (--controllers).
#[derive(Debug, Parser)]
#[command(name = "firstlight", version, subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// The command.
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
    /// Ctrl-C stops the server; the next `up` on the same data directory continues from there. Where standard output is no terminal, each phase
    /// of an object is one line; with -v, every change of every condition.
    #[command(
        after_help = "Examples:\n  firstlight up -f examples/first-cluster.yaml\n  firstlight up -f clusters/ --wait 10m --exit\n  firstlight up --bundle site.bundle --netboot-interface eth1 -f bundle:\n  cat cluster.yaml | firstlight up -f -"
    )]
    Up(UpOptions),
    /// Start everything without the live view: for systemd, containers and tests
    #[command(
        after_help = "Example:\n  firstlight serve --detach && kubectl apply -f cluster.yaml && firstlight wait --timeout 10m; firstlight stop"
    )]
    Serve(ServeOptions),
    /// Show what would happen if manifests were applied; no machine is touched
    ///
    /// The state of the server is copied into a simulation in this process, which plays the change to its end: machines that are created,
    /// deleted and updated, how long it takes, and what it waits for. Without a server, the plan begins with nothing.
    #[command(
        after_help = "Examples:\n  firstlight plan -f cluster.yaml\n  firstlight plan -f cluster.yaml --kubeconfig prod.kubeconfig --machine-start 7m\n  firstlight plan -f cluster.yaml -o json | jq .machines"
    )]
    Plan(PlanOptions),
    /// Wait until the clusters of a running server are Available, or have all their machines
    Wait(WaitOptions),
    /// Stop the server of the data directory
    Stop(StopOptions),
    /// List the servers of this user: their addresses, clusters and data directories
    List(ListOptions),
    /// Print the log that `up` on a terminal and `serve --detach` write
    Logs(LogsOptions),
    /// Run the controllers alone, against the cluster of a kubeconfig
    Controllers(ControllersOptions),
    /// Fill a directory with kube-apiserver and etcd for envtest (KUBEBUILDER_ASSETS)
    ///
    /// Both files are this program, which acts as kube-apiserver or etcd when it is started under that name.
    #[command(after_help = "Example:\n  eval $(firstlight envtest bin/envtest) && go test ./...")]
    Envtest {
        /// The directory; it is created if it does not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Hand everything over to another management cluster: journaled, verified, resumable
    ///
    /// The source is paused, every object is copied with its status, read back and compared, then the target takes over and the source
    /// is emptied. An interrupted pivot is continued with --resume, or undone with --roll-back as long as the target has not taken over.
    #[command(
        after_help = "Examples:\n  firstlight pivot --to-kubeconfig real.kubeconfig --dry-run\n  firstlight pivot --to-kubeconfig real.kubeconfig\n  firstlight pivot --kubeconfig broken.kubeconfig --to-kubeconfig ~/.local/share/firstlight/kubeconfig"
    )]
    Pivot(PivotOptions),
    /// Move the Cluster API objects of a namespace to another management cluster, with clusterctl's flags
    Move(MoveOptions),
    /// Print the path of the kubeconfig, or with --raw its content
    Kubeconfig(KubeconfigOptions),
    /// Show the server that runs on the data directory, its clusters, and the state of a pivot
    #[command(
        after_help = "Examples:\n  firstlight status --watch\n  firstlight status -o json | jq -r '.objects[] | select(.state != \"Ready\") | .name'"
    )]
    Status(StatusOptions),
    /// Back up a data directory to one file; its server may be running
    ///
    /// The file holds all objects as of one revision, and the private keys of the certificate authority and of tokens: protect it like a
    /// private key.
    #[command(
        after_help = "Examples:\n  firstlight backup /var/backups/firstlight-$(date +%F)\n  firstlight backup - | ssh vault 'cat > firstlight.backup'"
    )]
    Backup(BackupOptions),
    /// Create a data directory from a backup
    ///
    /// Objects keep their UIDs and resourceVersions. Clients that saw later changes are told to list again. If the clusters were handed
    /// over after the backup was taken, do not start a server on the restored directory: another server manages them now.
    #[command(
        after_help = "Example:\n  firstlight restore /var/backups/firstlight-2026-11-22 --data-dir restored"
    )]
    Restore(RestoreOptions),
    /// Check that a data directory or a backup is complete and undamaged
    #[command(
        after_help = "Examples:\n  firstlight verify\n  firstlight verify /var/backups/firstlight-2026-11-22"
    )]
    Verify(VerifyOptions),
    /// Take the deletion of a Cluster back, while its grace period lasts
    #[command(subcommand)]
    Undo(UndoCommand),
    /// Manage bare metal: hosts, and machines that become hosts
    #[command(subcommand)]
    Metal(Metal),
    /// Manage the nodes that run on this machine: real clusters without Docker
    #[command(subcommand)]
    Nodes(NodesCommand),
    /// Make one file with everything that a site without a network needs, for `firstlight up --bundle`
    ///
    /// A bundle has this program, boot files, disk images, container images and manifests. Nothing is fetched from a network; all digests are
    /// checked. The file is an OCI archive, which podman, skopeo and containerd read, too.
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Render and test ClusterClasses offline
    ///
    /// What a class makes of a Cluster is computed from files alone, with the same code as in a server.
    #[command(subcommand)]
    Class(ClassCommand),
    /// clusterctl's verbs
    #[command(flatten)]
    Verb(Verb),
    /// Print the version
    Version(VersionOptions),
    /// Write a container image of this program as an OCI archive; no other tool is needed
    #[command(after_help = "Example:\n  firstlight image -o - | podman load")]
    Image(ImageOptions),
    /// Print a completion script for a shell
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of all commands to a directory, for packages
    #[command(hide = true)]
    ManPages {
        /// The directory; it is created if it does not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// The groups of the commands in the help, with the names of their commands.
pub const GROUPS: [(&str, &[&str]); 9] = [
    ("From nothing to a management cluster", &["up", "serve", "plan", "wait", "stop", "pivot"]),
    ("What a server has and does", &["list", "status", "logs", "kubeconfig", "describe", "undo"]),
    ("Classes of clusters", &["class"]),
    ("Real nodes on this machine", &["nodes"]),
    ("Bare metal", &["metal", "bundle"]),
    ("Data", &["backup", "restore", "verify"]),
    ("Providers", &["init", "upgrade", "delete"]),
    ("clusterctl's other verbs", &["generate", "get", "move", "rollout", "alpha", "convert", "config"]),
    ("Other ways to run it", &["controllers", "envtest", "image", "completion", "version", "help"]),
];

/// The help of the program, in which `GROUPS` stands for the commands.
const HELP: &str = "{about-with-newline}\n{usage-heading} {usage}\n\nGROUPSOptions:\n{options}";

/// Returns the command line, with its commands in groups.
pub fn command() -> clap::Command {
    command_for(screen::width().unwrap_or(COLUMNS))
}

/// Returns the command line with help of this width.
pub fn command_for(columns: usize) -> clap::Command {
    let command = Cli::command().term_width(columns);
    let about = |name: &str| match command.find_subcommand(name) {
        Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
        None => "Show this help, or that of a command".to_owned(),
    };
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let indent = width + 4;
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups.push_str(&format!("{heading}:\n"));
        for name in names {
            let text = wrapped(&about(name), columns.saturating_sub(indent));
            groups.push_str(&format!("  {name:width$}  {}\n", text.join(&format!("\n{:indent$}", ""))));
        }
        groups.push('\n');
    }
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let elsewhere = names.into_iter().filter(|name| !reads_clusterctls_configuration(name));
    let command =
        elsewhere.fold(command, |command, name| command.mut_subcommand(name, without_configuration));
    command.help_template(HELP.replace("GROUPS", &groups))
}

/// The width of help that is no terminal's, as clap's.
const COLUMNS: usize = 100;

/// Breaks a text between its words into lines of at most `width` characters, as far as the words allow.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns whether clusterctl's configuration counts for a command.
fn reads_clusterctls_configuration(name: &str) -> bool {
    let groups = ["Providers", "clusterctl's other verbs"];
    let verbs = GROUPS.iter().filter(|(heading, _)| groups.contains(heading)).flat_map(|(_, names)| *names);
    verbs.chain(&["up", "serve", "describe"]).any(|verb| *verb == name)
}

/// Replaces the global option `--config` in a command for which it has no meaning by one that says so.
fn without_configuration(command: clap::Command) -> clap::Command {
    let refuse = |_: &str| Err::<String, _>("it is for clusterctl's verbs, `up` and `serve`");
    let option = clap::Arg::new("config").long("config").value_name("FILE").value_parser(refuse).hide(true);
    command.arg(option)
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
            Command::Controllers(options) => options.features.features(variable).map(drop),
            _ => Ok(()),
        }
    }
}
