//! The commands `kubeconfig` and `version`.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use server::data_directory::DataDirectory;
use server::merge_kubeconfig;
use server::options::DirectoryOptions;

use crate::output::Output;
use crate::output::{print, say, say_document};

/// Options of `kubeconfig`.
#[derive(Debug, Clone, Args)]
pub struct KubeconfigOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Print the content instead of the path; the content includes a private key
    #[arg(long)]
    pub raw: bool,
    /// Merge it into your own kubeconfig ($KUBECONFIG, or ~/.kube/config), and make its context the current one, until `firstlight stop`
    #[arg(long, conflicts_with = "raw")]
    pub merge: bool,
    /// Take it out of your own kubeconfig again, and make the context from before the current one
    #[arg(long, conflicts_with_all = ["raw", "merge"])]
    pub unmerge: bool,
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
    /// Only the version of clusterctl, as `clusterctl version -o short` prints it
    Short,
}

/// Prints the path or the content of the kubeconfig, or merges it into the user's own.
///
/// # Errors
/// There is no kubeconfig yet, or the user's own cannot be changed.
pub fn kubeconfig(options: &KubeconfigOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    if options.unmerge {
        return match merge_kubeconfig::unmerge(&directory)? {
            Some(file) => say(&format!("Taken out of {}.\n", file.display())),
            None => say("It is merged into no kubeconfig.\n"),
        };
    }
    let path = directory.running()?.map_or_else(|| directory.kubeconfig(), |running| running.kubeconfig);
    if !path.exists() {
        bail!(
            "there is no kubeconfig at {}; start `firstlight up` or `firstlight serve` first",
            path.display()
        );
    }
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    if options.merge {
        let into = merge_kubeconfig::users_own()?;
        let context = merge_kubeconfig::merge(&directory, &path, &into, true)?;
        return say(&format!("Merged into {}; its current context is {context}.\n", into.display()));
    }
    if options.raw {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        return say_document(&text);
    }
    say(&format!("{}\n", path.display()))
}

/// The release of clusterctl whose verbs are implemented, for scripts that parse the output of clusterctl.
const CLUSTERCTL: &str = "v1.14.0";

/// Prints the version.
///
/// # Errors
/// Standard output is closed.
pub fn version(options: &VersionOptions) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let report = json!({
        "version": version,
        "kubernetes": "v1.36",
        "clusterAPI": "v1.14, contract v1beta2",
        "clusterctl": {
            "major": "1",
            "minor": "14",
            "gitVersion": CLUSTERCTL,
            "platform": platform(),
        },
    });
    match options.output {
        Some(VersionOutput::Json) => print(&report, Output::Json),
        Some(VersionOutput::Yaml) => print(&report, Output::Yaml),
        Some(VersionOutput::Short) => say(&format!("{CLUSTERCTL}\n")),
        None => say(&format!(
            "firstlight {version} (Kubernetes API v1.36, Cluster API v1.14, contract v1beta2)\n"
        )),
    }
}

/// Returns the platform in the form of Go programs, for example `linux/amd64`.
fn platform() -> String {
    format!("{}/{}", std::env::consts::OS, bundle::architecture())
}
