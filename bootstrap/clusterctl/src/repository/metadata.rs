//! `metadata.yaml`: says which series of releases implements which contract.

use machinery::decode;
use semver::Version;
use serde::Deserialize;

use crate::{Context, Error, Result};

const API_VERSION: &str = "clusterctl.cluster.x-k8s.io/v1alpha3";

/// A provider's metadata about its releases.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    /// The series of releases.
    #[serde(default)]
    pub release_series: Vec<ReleaseSeries>,
}

/// All patches of a minor version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ReleaseSeries {
    /// The major version: `1` for `v1.14`.
    #[serde(default)]
    pub major: u64,
    /// The minor version: `14` for `v1.14`.
    #[serde(default)]
    pub minor: u64,
    /// The contract that the series implements: `v1beta2`.
    #[serde(default)]
    pub contract: String,
}

impl Metadata {
    /// Metadata with these series.
    pub fn of(release_series: Vec<ReleaseSeries>) -> Self {
        Self { api_version: API_VERSION.to_owned(), kind: String::new(), release_series }
    }

    /// The series that a version belongs to.
    pub fn series_of(&self, version: &Version) -> Option<&ReleaseSeries> {
        self.release_series
            .iter()
            .find(|series| (series.major, series.minor) == (version.major, version.minor))
    }

    /// The newest series that implements a contract.
    pub fn newest_of_contract(&self, contract: &str) -> Option<&ReleaseSeries> {
        let series = self.release_series.iter().filter(|series| series.contract == contract);
        series.max_by_key(|series| (series.major, series.minor))
    }
}

/// Reads the metadata file of a provider.
pub(super) fn parse(text: &[u8], label: &str) -> Result<Metadata> {
    let failed = || format!("error decoding \"metadata.yaml\" for provider {label:?}");
    let decoded = decode::yaml(text).map_err(Error::Invalid).context(failed)?;
    let metadata: Metadata = serde_json::from_value(decoded.value)
        .map_err(|error| Error::invalid(error.to_string()))
        .context(failed)?;
    let invalid = |reason: String| Err(Error::invalid(format!("invalid provider metadata: {reason}")));
    if metadata.api_version != API_VERSION {
        return invalid(format!(
            "unexpected apiVersion {:?} for provider {label} (expected {API_VERSION:?})",
            metadata.api_version
        ));
    }
    if !["Metadata", ""].contains(&metadata.kind.as_str()) {
        return invalid(format!(
            "unexpected kind {:?} for provider {label} (expected \"Metadata\")",
            metadata.kind
        ));
    }
    if metadata.release_series.is_empty() {
        return invalid(format!("releaseSeries is empty in metadata.yaml for provider {label}"));
    }
    Ok(metadata)
}
