//! `init list-images`, and `init` itself, which is not implemented.

use anyhow::Result;
use clap::{Args, Subcommand};
use clusterctl::list_images::{self, Chosen};

use super::{TargetOptions, Tools, later};
use crate::commands::say;

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
    install: later::InstallOptions,
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

/// Providers as `name[:version]`, several separated by commas.
#[derive(Debug, Args)]
pub struct Providers {
    /// Core provider
    #[arg(long, value_name = "PROVIDER")]
    core: Option<String>,
    /// Infrastructure providers
    #[arg(short = 'i', long, value_name = "PROVIDER", value_delimiter = ',')]
    infrastructure: Vec<String>,
    /// Bootstrap providers
    #[arg(short = 'b', long, value_name = "PROVIDER", value_delimiter = ',')]
    bootstrap: Vec<String>,
    /// Control plane providers
    #[arg(short = 'c', long, value_name = "PROVIDER", value_delimiter = ',')]
    control_plane: Vec<String>,
    /// IPAM providers
    #[arg(long, value_name = "PROVIDER", value_delimiter = ',')]
    ipam: Vec<String>,
    /// Runtime extension providers
    #[arg(long, value_name = "PROVIDER", value_delimiter = ',')]
    runtime_extension: Vec<String>,
    /// Add-on providers
    #[arg(long, value_name = "PROVIDER", value_delimiter = ',')]
    addon: Vec<String>,
}

/// Runs `init list-images`.
///
/// # Errors
/// A provider is unknown, or its components cannot be read; always for `init` itself.
pub async fn run(options: InitOptions, tools: &Tools) -> Result<()> {
    let Some(InitCommand::ListImages(options)) = options.command else { return later::not_yet("init") };
    let providers = options.providers;
    let chosen = Chosen {
        core: providers.core.filter(|name| !name.is_empty()).into_iter().collect(),
        bootstrap: providers.bootstrap,
        control_plane: providers.control_plane,
        infrastructure: providers.infrastructure,
        ipam: providers.ipam,
        runtime_extension: providers.runtime_extension,
        addon: providers.addon,
    };
    let connection = options.target.connect().await?;
    let images = list_images::list(chosen, &connection.client, &tools.configuration, &tools.fetcher).await?;
    say(&images.iter().map(|image| format!("{image}\n")).collect::<String>())
}
