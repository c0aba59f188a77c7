//! `rollout restart | pause | resume`.

use anyhow::Result;
use clap::{Args, Subcommand};
use clusterctl::rollout::{self, Action};

use super::tools::Tools;
use crate::target::TargetOptions;

/// Commands under `rollout`.
#[derive(Debug, Subcommand)]
pub enum Rollout {
    /// Replace every machine
    #[command(
        after_help = "Examples:\n  firstlight rollout restart machinedeployment/my-md-0\n  firstlight rollout restart kubeadmcontrolplane/my-kcp"
    )]
    Restart(RolloutOptions),
    /// Stop replacing machines
    Pause(RolloutOptions),
    /// Resume replacing machines
    Resume(RolloutOptions),
}

/// Options of `rollout restart`, `rollout pause` and `rollout resume`.
#[derive(Debug, Args)]
pub struct RolloutOptions {
    /// machinedeployment/NAME or kubeadmcontrolplane/NAME
    #[arg(value_name = "RESOURCE")]
    resources: Vec<String>,
    /// Namespace of the resources [default: that of the kubeconfig's context]
    #[arg(short = 'n', long)]
    namespace: Option<String>,
    #[command(flatten)]
    target: TargetOptions,
}

/// Runs `rollout`.
///
/// # Errors
/// A resource does not exist, or is already in the requested state.
pub async fn run(rollout: Rollout, tools: &Tools) -> Result<()> {
    let (action, options) = match rollout {
        Rollout::Restart(options) => (Action::Restart, options),
        Rollout::Pause(options) => (Action::Pause, options),
        Rollout::Resume(options) => (Action::Resume, options),
    };
    let connection = options.target.connect().await?;
    let namespace = options.namespace.filter(|namespace| !namespace.is_empty());
    Ok(rollout::run(action, &options.resources, &connection, namespace.as_deref(), &tools.clock).await?)
}
