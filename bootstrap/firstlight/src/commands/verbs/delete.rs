//! `delete`.

use anyhow::Result;
use clap::Args;
use clusterctl::delete;

use super::providers::Providers;
use super::tools::Tools;
use crate::target::TargetOptions;

/// Options of `delete`.
#[derive(Debug, Args)]
pub struct DeleteOptions {
    #[command(flatten)]
    providers: Providers,
    /// Delete all providers
    #[arg(long)]
    all: bool,
    /// Delete the namespaces of the providers, with everything in them
    #[arg(long)]
    include_namespace: bool,
    /// Delete the kinds of the providers, if there are no objects of them
    #[arg(long)]
    include_crd: bool,
    #[command(flatten)]
    target: TargetOptions,
}

/// Runs `delete`.
///
/// # Errors
/// A provider is not installed, objects of its kinds exist, or the cluster refuses.
pub async fn run(options: DeleteOptions, tools: &Tools) -> Result<()> {
    let connection = options.target.connect().await?;
    let how = delete::Options {
        all: options.all,
        include_definitions: options.include_crd,
        include_namespace: options.include_namespace,
    };
    Ok(delete::delete(options.providers.chosen(), how, &tools.install(&connection)).await?)
}
