//! Fetches components from a provider's repository.

use super::{Components, Wanted};
use crate::configuration::{Configuration, ProviderType, parse_name};
use crate::repository::{Fetcher, Repository};
use crate::{Error, Result, version};

/// Contracts that a provider may implement.
const CONTRACTS: [&str; 2] = ["v1beta1", "v1beta2"];

impl Components {
    /// Fetches the components of `name[:version]`.
    ///
    /// # Errors
    /// The provider is not known, a file does not exist, or as [`Self::read`].
    pub async fn fetch(
        name: &str,
        provider_type: ProviderType,
        configuration: &Configuration,
        fetcher: &Fetcher,
        wanted: &Wanted,
    ) -> Result<Self> {
        Release::find(name, provider_type, configuration, fetcher).await?.read(configuration, wanted).await
    }

    /// The same for `generate provider`, which first checks the provider's metadata.
    ///
    /// # Errors
    /// As [`Self::fetch`]; or the version belongs to no release series, or to one of an unknown contract.
    pub async fn generate(
        name: &str,
        provider_type: ProviderType,
        configuration: &Configuration,
        fetcher: &Fetcher,
        wanted: &Wanted,
    ) -> Result<Self> {
        let release = Release::find(name, provider_type, configuration, fetcher).await?;
        release.check_contract().await?;
        release.read(configuration, wanted).await
    }
}

/// A version of a provider in its repository.
struct Release {
    repository: Repository,
    version: String,
}

impl Release {
    async fn find(
        name: &str,
        provider_type: ProviderType,
        configuration: &Configuration,
        fetcher: &Fetcher,
    ) -> Result<Self> {
        let (name, version) = parse_name(name)?;
        let provider = configuration.provider(&name, provider_type)?;
        let repository = Repository::open(&provider, configuration, fetcher).await?;
        let version = version.unwrap_or_else(|| repository.version.clone());
        Ok(Self { repository, version })
    }

    async fn read(&self, configuration: &Configuration, wanted: &Wanted) -> Result<Components> {
        let text = self.repository.components(&self.version).await?;
        Components::read(&text, &self.repository.provider, &self.version, configuration, wanted)
    }

    async fn check_contract(&self) -> Result<()> {
        let (name, version) = (&self.repository.provider.name, &self.version);
        let metadata = self.repository.metadata(version).await?;
        let current = version::parse(version)
            .ok_or_else(|| Error::invalid(format!("could not parse {version:?} as version")))?;
        let series = metadata.series_of(&current).ok_or_else(|| {
            Error::invalid(format!(
                "invalid provider metadata: version {version} for the provider {name} does not match any release series"
            ))
        })?;
        if CONTRACTS.contains(&series.contract.as_str()) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "current version of clusterctl is only compatible with provider implementing {} contract versions, detected {} for provider {name}",
            CONTRACTS.join(", "),
            series.contract
        )))
    }
}
