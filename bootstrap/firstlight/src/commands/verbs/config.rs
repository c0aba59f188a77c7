//! `config repositories`.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use clusterctl::configuration::repositories;

use super::tools::Tools;
use crate::output::say;

/// Commands under `config`.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// The known providers and their repositories
    Repositories(RepositoriesOptions),
}

/// Options of `config repositories`.
#[derive(Debug, Args)]
pub struct RepositoriesOptions {
    /// Form of the output: text or yaml
    #[arg(short, long, default_value = "text")]
    output: String,
}

/// Runs `config repositories`.
///
/// # Errors
/// An unknown output format, or an invalid provider in the configuration.
pub fn run(config: &Config, tools: &Tools) -> Result<()> {
    let Config::Repositories(options) = config;
    match options.output.as_str() {
        "text" => say(&repositories::table(&tools.configuration.providers()?)),
        "yaml" => say(&repositories::yaml(&tools.configuration.providers()?)?),
        other => bail!("invalid output format {other:?}, valid values: [yaml text]"),
    }
}
