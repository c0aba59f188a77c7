//! Verbs that are not implemented yet. Their options are already parsed.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::providers::{Providers, WaitOptions};
use crate::target::TargetOptions;

/// Commands under `upgrade`.
#[derive(Debug, Subcommand)]
pub enum Upgrade {
    /// Show which providers can be upgraded
    Plan(TargetOptions),
    /// Upgrade providers
    Apply(Box<ApplyOptions>),
}

/// Options of `upgrade apply`.
#[derive(Debug, Args)]
pub struct ApplyOptions {
    /// Contract to upgrade to
    #[arg(long)]
    contract: Option<String>,
    #[command(flatten)]
    providers: Providers,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    target: TargetOptions,
}

/// Options of `delete`.
#[derive(Debug, Args)]
pub struct DeleteOptions {
    #[command(flatten)]
    providers: Providers,
    /// Delete all providers
    #[arg(long)]
    all: bool,
    /// Delete the namespace too
    #[arg(long)]
    include_namespace: bool,
    /// Delete the kinds and all their objects too
    #[arg(long)]
    include_crd: bool,
    #[command(flatten)]
    target: TargetOptions,
}

/// Returns the error of a verb that is not implemented.
///
/// # Errors
/// Always.
pub fn not_yet(verb: &str) -> Result<()> {
    bail!(
        "firstlight runs its own controllers and no providers; to {verb} providers, use `clusterctl {verb}` in a cluster that runs Pods, \
         after `firstlight pivot` to it"
    )
}
