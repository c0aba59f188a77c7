//! `upgrade plan` and `upgrade apply`.

use anyhow::Result;
use clap::{Args, Subcommand};
use clusterctl::upgrade;

use super::providers::{Bundles, Providers, WaitOptions};
use super::tools::Tools;
use crate::output::say;
use crate::target::TargetOptions;

/// Commands under `upgrade`.
#[derive(Debug, Subcommand)]
pub enum Upgrade {
    /// Show which providers can be upgraded
    Plan(PlanOptions),
    /// Upgrade providers; if that fails, the old versions are installed again
    #[command(
        after_help = "Examples:\n  firstlight upgrade apply --contract v1beta2\n  firstlight upgrade apply --infrastructure aws:v2.0.1"
    )]
    Apply(Box<ApplyOptions>),
}

/// Options of `upgrade plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    #[command(flatten)]
    bundles: Bundles,
    #[command(flatten)]
    target: TargetOptions,
}

/// Options of `upgrade apply`.
#[derive(Debug, Args)]
pub struct ApplyOptions {
    /// Contract to whose newest versions all providers are upgraded
    #[arg(long)]
    contract: Option<String>,
    #[command(flatten)]
    providers: Providers,
    #[command(flatten)]
    wait: WaitOptions,
    #[command(flatten)]
    bundles: Bundles,
    #[command(flatten)]
    target: TargetOptions,
}

/// Runs `upgrade`.
///
/// # Errors
/// A repository cannot be read, the providers would not work together, or the cluster refuses an object.
pub async fn run(command: Upgrade, mut tools: Tools) -> Result<()> {
    match command {
        Upgrade::Plan(options) => {
            options.bundles.open(&mut tools.configuration)?;
            let connection = options.target.connect().await?;
            let plans = upgrade::plan(&tools.install(&connection)).await?;
            say(&plans.iter().map(|plan| plan.text("firstlight")).collect::<String>())
        }
        Upgrade::Apply(options) => {
            options.bundles.open(&mut tools.configuration)?;
            let connection = options.target.connect().await?;
            let how = upgrade::Options { contract: options.contract, wait: options.wait.limit() };
            let chosen = options.providers.chosen();
            Ok(upgrade::apply(chosen, &how, &tools.install(&connection)).await?)
        }
    }
}
