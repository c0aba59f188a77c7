//! `init list-images`, and `init` itself, which is not implemented.

use anyhow::Result;
use clap::{Args, Subcommand};
use clusterctl::list_images;

use super::providers::{Providers, WaitOptions};
use super::tools::Tools;
use super::unimplemented;
use crate::output::say;
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

/// Runs `init list-images`.
///
/// # Errors
/// A provider is unknown, or its components cannot be read; always for `init` itself.
pub async fn run(options: InitOptions, tools: &Tools) -> Result<()> {
    let Some(InitCommand::ListImages(options)) = options.command else {
        return unimplemented::not_yet("init");
    };
    let chosen = options.providers.chosen();
    let connection = options.target.connect().await?;
    let images = list_images::list(chosen, &connection.client, &tools.configuration, &tools.fetcher).await?;
    say(&images.iter().map(|image| format!("{image}\n")).collect::<String>())
}
