//! `init`, and `init list-images`.

use anyhow::Result;
use clap::{Args, Subcommand};
use clusterctl::{install, list_images};

use super::providers::{Bundles, Providers, WaitOptions};
use super::tools::Tools;
use crate::output::{say, tell};
use crate::target::TargetOptions;

/// Options of `init`.
#[derive(Debug, Args)]
pub struct InitOptions {
    #[command(subcommand)]
    command: Option<InitCommand>,
    #[command(flatten)]
    providers: Providers,
    /// Namespace to install in
    #[arg(short = 'n', long, value_name = "NAMESPACE", global = true)]
    target_namespace: Option<String>,
    #[command(flatten)]
    install: WaitOptions,
    /// Check that the providers can be installed
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    validate: Option<bool>,
    #[command(flatten)]
    bundles: Bundles,
    #[command(flatten)]
    target: TargetOptions,
}

/// Commands under `init`.
#[derive(Debug, Subcommand)]
pub enum InitCommand {
    /// List the images that the providers need
    ListImages(ListImagesOptions),
}

/// Options of `init list-images`.
#[derive(Debug, Args)]
pub struct ListImagesOptions {
    #[command(flatten)]
    providers: Providers,
    #[command(flatten)]
    target: TargetOptions,
}

/// Runs `init`.
///
/// # Errors
/// A provider is unknown, its components cannot be read, a check fails, or the cluster refuses an object.
pub async fn run(options: InitOptions, mut tools: Tools) -> Result<()> {
    if let Some(InitCommand::ListImages(options)) = options.command {
        return list(options, &tools).await;
    }
    options.bundles.open(&mut tools.configuration)?;
    let connection = options.target.connect().await?;
    let how = install::Options {
        namespace: options.target_namespace,
        validate: options.validate.unwrap_or(true),
        wait: options.install.limit(),
    };
    let is_first = install::init(options.providers.chosen(), &how, &tools.install(&connection)).await?;
    if is_first {
        tell("Your management cluster has been initialized successfully!");
    }
    Ok(())
}

async fn list(options: ListImagesOptions, tools: &Tools) -> Result<()> {
    let chosen = options.providers.chosen();
    let connection = options.target.connect().await?;
    let images = list_images::list(chosen, &connection.client, &tools.configuration, &tools.fetcher).await?;
    say(&images.iter().map(|image| format!("{image}\n")).collect::<String>())
}
