//! `get kubeconfig`.

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::output::{say_document, tell};
use crate::target::TargetOptions;

/// Commands under `get`.
#[derive(Debug, Subcommand)]
pub enum Get {
    /// The kubeconfig of a cluster
    Kubeconfig(KubeconfigOptions),
}

/// Options of `get kubeconfig`.
#[derive(Debug, Args)]
pub struct KubeconfigOptions {
    /// Name of the cluster
    name: String,
    /// Namespace of the cluster [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    namespace: Option<String>,
    #[command(flatten)]
    target: TargetOptions,
}

/// Runs `get kubeconfig`.
///
/// # Errors
/// The cluster has no kubeconfig.
pub async fn run(get: Get) -> Result<()> {
    let Get::Kubeconfig(options) = get;
    let connection = options.target.connect().await?;
    let namespace = options.namespace.filter(|namespace| !namespace.is_empty());
    let text = clusterctl::kubeconfig::of(&connection, namespace.as_deref(), &options.name).await?;
    if let Err(error) = pki::kubeconfig::Kubeconfig::parse(&text) {
        // Whoever may write Secrets beside the Cluster could have clients of this user run a command, for example.
        tell(&format!("Warning: look at this kubeconfig before a client uses it: {error}"));
    }
    say_document(&format!("{text}\n"))
}
