//! The releases of one provider: which contracts and which newer versions they offer.

use std::collections::BTreeSet;

use semver::Version;

use crate::inventory::Installed;
use crate::repository::{Metadata, Repository};
use crate::{Error, Result, version};

/// The releases of an installed provider.
#[derive(Debug)]
pub struct Releases {
    metadata: Metadata,
    /// The version that is installed.
    current: Version,
    /// All newer versions.
    next: Vec<Version>,
    instance: String,
}

impl Releases {
    /// Reads the releases from the provider's repository; the metadata are those of the newest one.
    ///
    /// # Errors
    /// The repository cannot be read, or its metadata do not have the series of the installed version or of a newer one.
    pub(super) async fn read(provider: &Installed, repository: &Repository) -> Result<Self> {
        let instance = provider.instance();
        let failed = |which: &str| Error::invalid(format!("failed to {which} for the {instance} provider"));
        let mut versions = Vec::new();
        for text in repository.versions().await? {
            versions.push(version::parse(&text).ok_or_else(|| failed("parse available version"))?);
        }
        let newest = versions.iter().max_by(|a, b| a.cmp_precedence(b));
        let newest = newest.ok_or_else(|| failed("get available versions"))?;
        let metadata = repository.metadata(&format!("v{newest}")).await?;
        let current = version::parse(&provider.version).ok_or_else(|| failed("parse current version"))?;
        Self::of(instance.clone(), metadata, current, versions)
    }

    /// Returns the releases of a provider, of which `all` are in its repository.
    ///
    /// # Errors
    /// The metadata do not have the series of the current version or of a newer one.
    pub fn of(instance: String, metadata: Metadata, current: Version, all: Vec<Version>) -> Result<Self> {
        let next: Vec<Version> =
            all.into_iter().filter(|version| version.cmp_precedence(&current).is_gt()).collect();
        let known = [(&current, "the current version")].into_iter();
        let known = known.chain(next.iter().map(|version| (version, "one of the available versions")));
        for (version, which) in known {
            if metadata.series_of(version).is_none() {
                return Err(Error::invalid(format!(
                    "invalid provider metadata: version v{version} ({which}) for the provider {instance} does not match any release series"
                )));
            }
        }
        Ok(Self { metadata, current, next, instance })
    }

    /// The contract of the installed version.
    pub fn current_contract(&self) -> &str {
        self.metadata.series_of(&self.current).map(|series| series.contract.as_str()).unwrap_or_default()
    }

    /// The contracts of the installed series and of all newer ones.
    pub fn contracts(&self) -> BTreeSet<String> {
        let current = (self.current.major, self.current.minor);
        let series = self.metadata.release_series.iter();
        let newer = series.filter(|series| (series.major, series.minor) >= current);
        newer.map(|series| series.contract.clone()).collect()
    }

    /// The newest version that implements one of these contracts, and is no prerelease.
    pub fn newest(&self, contracts: &[&str]) -> Option<String> {
        let implements = |version: &&Version| {
            let series = self.metadata.series_of(version);
            series.is_some_and(|series| contracts.contains(&series.contract.as_str()))
        };
        let releases = self.next.iter().filter(|version| version.pre.is_empty()).filter(implements);
        releases.max_by(|a, b| a.cmp_precedence(b)).map(|version| format!("v{version}"))
    }

    /// The contract of a version.
    ///
    /// # Errors
    /// The text is no version, or the version belongs to no series.
    pub fn contract_of(&self, text: &str) -> Result<&str> {
        let instance = &self.instance;
        let parsed = version::parse(text).ok_or_else(|| {
            Error::invalid(format!("failed to parse target version for the {instance} provider"))
        })?;
        let series = self.metadata.series_of(&parsed).ok_or_else(|| {
            Error::invalid(format!(
                "invalid target version: version {text} for the provider {instance} does not match any release series"
            ))
        })?;
        Ok(&series.contract)
    }
}
