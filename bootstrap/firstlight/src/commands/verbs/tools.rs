//! The global options and the dependencies of clusterctl's verbs.

use std::sync::Arc;

use clap::Args;
use clusterctl::configuration::{Configuration, Environment};
use clusterctl::connection::Connection;
use clusterctl::install;
use clusterctl::network::Https;
use clusterctl::repository::Fetcher;
use machinery::clock::Clock;
use net::Proxies;

use crate::output::tell;

/// Options that all of clusterctl's verbs share.
#[derive(Debug, Clone, Args)]
pub struct GlobalOptions {
    /// clusterctl's configuration: a file or an https:// address [default: $XDG_CONFIG_HOME/cluster-api/clusterctl.yaml]
    #[arg(long, global = true, value_name = "FILE", help_heading = "clusterctl's verbs")]
    pub config: Option<String>,
    /// Verbosity; RUST_LOG selects more precisely which messages are logged
    #[arg(short = 'v', long = "v", global = true, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", hide = true)]
    pub verbosity: Option<u8>,
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
    /// Creates the dependencies with the configuration that `options` names.
    ///
    /// # Errors
    /// The configuration cannot be read, or there is no HTTPS client.
    pub async fn new(options: &GlobalOptions) -> clusterctl::Result<Self> {
        let network = Arc::new(Https::new(Proxies::of_process())?);
        let clock = Clock::system();
        let configuration =
            Configuration::load(options.config.as_deref(), Environment::process(), network.as_ref()).await?;
        let fetcher = Fetcher::new(network, clock.clone()).with_report(Arc::new(tell));
        Ok(Self { configuration, fetcher, clock })
    }

    /// Returns what installing providers in a cluster needs.
    pub fn install<'a>(&'a self, connection: &'a Connection) -> install::Tools<'a> {
        install::Tools {
            client: &connection.client,
            configuration: &self.configuration,
            fetcher: &self.fetcher,
            clock: &self.clock,
            // As clusterctl, which keeps its standard output for what scripts read.
            say: &tell,
        }
    }
}
