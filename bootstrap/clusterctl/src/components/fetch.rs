//! Components out of a provider's repository.

use super::{Components, Wanted};
use crate::configuration::{Configuration, ProviderType, parse_name};
use crate::repository::{Fetcher, Repository};
use crate::{Error, Result, version};

/// Contracts that a provider may implement.
const CONTRACTS: [&str; 2] = ["v1beta1", "v1beta2"];

impl Components {
    /// The components of `name[:version]`.
    ///
    /// # Errors
    /// A provider that is not known, a file that is not there, as [`Self::read`].
    pub async fn fetch(
        name: &str,
        provider_type: ProviderType,
        configuration: &Configuration,
        fetcher: &Fetcher,
        wanted: &Wanted,
    ) -> Result<Self> {
        let (name, version) = parse_name(name)?;
        let provider = configuration.provider(&name, provider_type)?;
        let repository = Repository::open(&provider, configuration, fetcher).await?;
        let version = version.unwrap_or_else(|| repository.version.clone());
        let text = repository.components(&version).await?;
        Self::read(&text, &provider, &version, configuration, wanted)
    }

    /// The same for `generate provider`, which looks at the provider's metadata first.
    ///
    /// # Errors
    /// As [`Self::fetch`]; a version of no series, or of a contract that is not known here.
    pub async fn generate(
        text: &str,
        provider_type: ProviderType,
        configuration: &Configuration,
        fetcher: &Fetcher,
        wanted: &Wanted,
    ) -> Result<Self> {
        let (name, release) = parse_name(text)?;
        let provider = configuration.provider(&name, provider_type)?;
        let repository = Repository::open(&provider, configuration, fetcher).await?;
        let release = release.unwrap_or_else(|| repository.version.clone());
        let metadata = repository.metadata(&release).await?;
        let current = version::parse(&release)
            .ok_or_else(|| Error::invalid(format!("could not parse {release:?} as version")))?;
        let series = metadata.series_of(&current).ok_or_else(|| {
            Error::invalid(format!(
                "invalid provider metadata: version {release} for the provider {name} does not match any release series"
            ))
        })?;
        if !CONTRACTS.contains(&series.contract.as_str()) {
            return Err(Error::invalid(format!(
                "current version of clusterctl is only compatible with provider implementing {} contract versions, detected {} for provider {name}",
                CONTRACTS.join(", "),
                series.contract
            )));
        }
        Self::fetch(text, provider_type, configuration, fetcher, wanted).await
    }
}
