//! The commands `kubeconfig`, `status` and `version`.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use machinery::clock::Clock;
use serde_json::json;

use crate::connection;
use crate::data_directory::{DataDirectory, Running};
use crate::options::{DirectoryOptions, Output, OutputOptions};
use crate::output::{print, say};
use crate::tree::model::{State, entries};
use crate::tree::render;
use crate::tree::screen;
use crate::tree::view::View;

/// Options of `kubeconfig`.
#[derive(Debug, Clone, Args)]
pub struct KubeconfigOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// Print the content instead of the path; the content includes a private key
    #[arg(long)]
    pub raw: bool,
}

/// Options of `status`.
#[derive(Debug, Clone, Args)]
pub struct StatusOptions {
    /// The data directory.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
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

/// Prints the path or the content of the kubeconfig.
///
/// # Errors
/// There is no kubeconfig yet.
pub fn kubeconfig(options: &KubeconfigOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let path = directory.running()?.map_or_else(|| directory.kubeconfig(), |running| running.kubeconfig);
    if !path.exists() {
        bail!(
            "there is no kubeconfig at {}; start `firstlight up` or `firstlight serve` first",
            path.display()
        );
    }
    if options.raw {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        return say(&text);
    }
    say(&format!("{}\n", path.display()))
}

/// Shows the server of a data directory, and its clusters.
///
/// # Errors
/// No server runs on the directory, or it does not answer.
pub async fn status(options: &StatusOptions) -> Result<()> {
    let directory = DataDirectory::locate(options.directory.data_dir.as_deref())?;
    let running = directory.running_server()?;
    let client = connection::client(&running.kubeconfig).await?;
    let version = client.apiserver_version().await;
    let version =
        version.with_context(|| format!("{} (process {}) does not answer", running.server, running.pid))?;
    let manager = connection::manager(client);
    let view = View::new(&manager);
    view.ready().await;
    let objects = view.objects();
    let entries = entries(&objects);
    manager.stop().await;
    if let Some(output) = options.output.output {
        return print(&report(&running, &version.git_version, &entries), output);
    }
    let mut text = format!(
        "Server:     {} ({}, process {})\nKubeconfig: {}\n\n",
        running.server,
        version.git_version,
        running.pid,
        running.kubeconfig.display()
    );
    if entries.is_empty() {
        text.push_str("No clusters.\n");
    }
    let width = screen::width().unwrap_or(usize::MAX);
    for line in render::tree(&entries, Clock::system().now(), width, false) {
        text.push_str(&line);
        text.push('\n');
    }
    say(&text)
}

fn report(running: &Running, version: &str, entries: &[crate::tree::model::Entry]) -> serde_json::Value {
    let objects: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| {
            let state = match entry.state {
                State::Good | State::Folded(_) => "Ready",
                State::Waiting => "Waiting",
                State::Deleting => "Deleting",
            };
            json!({"object": entry.key, "depth": entry.depth, "state": state, "summary": entry.summary, "waitingFor": entry.causes.join("; ")})
        })
        .collect();
    json!({
        "server": running.server, "pid": running.pid, "kubeconfig": running.kubeconfig,
        "version": version, "objects": objects,
    })
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
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}
