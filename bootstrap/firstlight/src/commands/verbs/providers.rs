//! Options of the verbs that install providers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clusterctl::configuration::Configuration;
use clusterctl::install::Chosen;

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

impl Providers {
    /// Returns the providers by type, without empty names.
    pub fn chosen(self) -> Chosen {
        Chosen {
            core: self.core.filter(|name| !name.is_empty()).into_iter().collect(),
            bootstrap: self.bootstrap,
            control_plane: self.control_plane,
            infrastructure: self.infrastructure,
            ipam: self.ipam,
            runtime_extension: self.runtime_extension,
            addon: self.addon,
        }
    }
}

/// The options for waiting until providers run.
#[derive(Debug, Args)]
pub struct WaitOptions {
    /// Wait until the providers run
    #[arg(long)]
    wait_providers: bool,
    /// Time to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    wait_provider_timeout: u32,
}

impl WaitOptions {
    /// Returns how long to wait; `None` without waiting.
    pub fn limit(&self) -> Option<Duration> {
        self.wait_providers.then(|| Duration::from_secs(self.wait_provider_timeout.into()))
    }
}

/// The option for providers from a bundle.
#[derive(Debug, Args)]
pub struct Bundles {
    /// Bundle with the files of providers, which are looked for here first; may be repeated
    #[arg(long = "bundle", value_name = "FILE")]
    bundles: Vec<PathBuf>,
}

impl Bundles {
    /// Opens the bundles.
    ///
    /// # Errors
    /// A file is no bundle, or damaged.
    pub fn open(&self, configuration: &mut Configuration) -> Result<()> {
        if !self.bundles.is_empty() {
            configuration.set_bundles(server::netboot::bundles::open(&self.bundles)?);
        }
        Ok(())
    }
}
