//! clusterctl's verbs, each in a file with its options.

mod config;
mod convert;
mod describe;
mod generate;
mod get;
mod later;
mod list_images;
mod rollout;
mod target;

use std::sync::Arc;

use clap::{Args, Subcommand};
use clusterctl::configuration::{Configuration, Environment};
use clusterctl::network::Https;
use clusterctl::repository::Fetcher;
use machinery::clock::Clock;

pub use target::{Context, TargetOptions};

/// Options of all of clusterctl's verbs.
#[derive(Debug, Clone, Args)]
pub struct GlobalOptions {
    /// clusterctl's configuration: a file or an https:// address [default: $XDG_CONFIG_HOME/cluster-api/clusterctl.yaml]
    #[arg(long, global = true, value_name = "FILE", help_heading = "clusterctl's verbs")]
    pub config: Option<String>,
    /// Verbosity; RUST_LOG says more exactly what is logged
    #[arg(short = 'v', long = "v", global = true, value_name = "LEVEL", hide = true)]
    pub verbosity: Option<u8>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print the manifests of a cluster, a provider, or any template
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Print the kubeconfig of a cluster
    #[command(subcommand)]
    Get(get::Get),
    /// Show a cluster and what it is made of
    #[command(subcommand)]
    Describe(describe::Describe),
    /// Restart, pause or resume a rollout
    #[command(subcommand)]
    Rollout(rollout::Rollout),
    /// Verbs that may change
    #[command(subcommand)]
    Alpha(Alpha),
    /// Convert manifests to the newest version of Cluster API
    Convert(convert::ConvertOptions),
    /// Show the configuration
    #[command(subcommand)]
    Config(config::Config),
    /// Install providers (in a later release), or list their images
    Init(Box<list_images::InitOptions>),
    /// Upgrade providers (in a later release)
    #[command(subcommand)]
    Upgrade(later::Upgrade),
    /// Delete providers (in a later release)
    Delete(Box<later::DeleteOptions>),
}

/// Verbs under `alpha`.
#[derive(Debug, Subcommand)]
pub enum Alpha {
    /// Restart, pause or resume a rollout
    #[command(subcommand)]
    Rollout(rollout::Rollout),
}

/// The dependencies of the verbs.
pub struct Tools {
    /// clusterctl's configuration.
    pub configuration: Configuration,
    /// The client of provider repositories.
    pub fetcher: Fetcher,
    /// The clock.
    pub clock: Clock,
}

impl Tools {
    async fn new(options: &GlobalOptions) -> clusterctl::Result<Self> {
        let network = Arc::new(Https::new()?);
        let clock = Clock::system();
        let configuration =
            Configuration::load(options.config.as_deref(), Environment::process(), network.as_ref()).await?;
        Ok(Self { configuration, fetcher: Fetcher::new(network, clock.clone()), clock })
    }
}

/// Runs a verb.
///
/// # Errors
/// The errors of the verb.
pub async fn run(verb: Verb, options: &GlobalOptions) -> anyhow::Result<()> {
    let tools = Tools::new(options).await?;
    match verb {
        Verb::Generate(generate) => generate::run(generate, tools).await,
        Verb::Get(get) => get::run(get).await,
        Verb::Describe(describe) => describe::run(describe, &tools).await,
        Verb::Rollout(rollout) | Verb::Alpha(Alpha::Rollout(rollout)) => rollout::run(rollout, &tools).await,
        Verb::Convert(options) => convert::run(&options),
        Verb::Config(config) => config::run(&config, &tools),
        Verb::Init(options) => list_images::run(*options, &tools).await,
        Verb::Upgrade(_) => later::not_yet("upgrade"),
        Verb::Delete(_) => later::not_yet("delete"),
    }
}
