//! clusterctl's verbs, each in a file with its options.

mod config;
mod convert;
mod delete;
mod describe;
mod generate;
mod get;
mod init;
mod providers;
mod rollout;
pub mod tools;
mod upgrade;

use clap::Subcommand;

use tools::{GlobalOptions, Tools};

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Print the manifests of a cluster, a provider, or any template
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Print the kubeconfig of a cluster
    #[command(subcommand)]
    Get(get::Get),
    /// Show a cluster and the objects that belong to it
    #[command(subcommand)]
    Describe(describe::Describe),
    /// Restart, pause or resume a rollout
    #[command(subcommand)]
    Rollout(rollout::Rollout),
    /// Verbs that may change
    #[command(subcommand)]
    Alpha(Alpha),
    /// Convert manifests to the newest version of Cluster API
    ///
    /// Core kinds and those of kubeadm, of add-ons, of IP addresses and of runtime extensions are converted, also in a List. Other objects stay as they are: the kinds of a
    /// provider are its own. clusterctl converts core kinds only.
    Convert(convert::ConvertOptions),
    /// Show the configuration
    #[command(subcommand)]
    Config(config::Config),
    /// Install providers
    Init(Box<init::InitOptions>),
    /// Upgrade providers
    #[command(subcommand)]
    Upgrade(upgrade::Upgrade),
    /// Delete providers
    #[command(
        after_help = "Examples:\n  firstlight delete --infrastructure aws\n  firstlight delete --infrastructure aws --include-crd --include-namespace"
    )]
    Delete(Box<delete::DeleteOptions>),
}

/// Verbs under `alpha`.
#[derive(Debug, Subcommand)]
pub enum Alpha {
    /// Restart, pause or resume a rollout
    #[command(subcommand)]
    Rollout(rollout::Rollout),
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
        Verb::Init(options) => init::run(*options, tools).await,
        Verb::Upgrade(upgrade) => upgrade::run(upgrade, tools).await,
        Verb::Delete(options) => delete::run(*options, &tools).await,
    }
}
