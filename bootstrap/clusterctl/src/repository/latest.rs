//! Finds the version that `latest` means.

use super::{METADATA, Repository, metadata};
use crate::{Context, Error, Result, version};

/// How many versions are tried.
const CANDIDATES_MAX: usize = 5;
/// The preferred contract.
const CONTRACT: &str = "v1beta2";

/// The latest version; or, if its metadata lists another series as the newest one for the contract, the latest patch of that series.
pub(super) async fn of_contract(repository: &Repository) -> Result<String> {
    let latest = of_series(repository, None).await?;
    let Ok(text) = repository.published(&latest, METADATA).await else { return Ok(latest) };
    let Ok(metadata) = metadata::parse(&text, &repository.provider.label()) else { return Ok(latest) };
    let found = version::parse(&latest).map(|version| (version.major, version.minor));
    match metadata.newest_of_contract(CONTRACT) {
        Some(series) if found != Some((series.major, series.minor)) => {
            of_series(repository, Some((series.major, series.minor))).await
        }
        _ => Ok(latest),
    }
}

/// The latest version that has metadata; releases come before prereleases.
async fn of_series(repository: &Repository, series: Option<(u64, u64)>) -> Result<String> {
    let versions = repository.versions().await.context(|| "failed to get repository versions".to_owned())?;
    let mut versions: Vec<semver::Version> =
        versions.iter().filter_map(|text| version::parse(text)).collect();
    versions.retain(|version| series.is_none_or(|series| series == (version.major, version.minor)));
    versions.sort_by(version::latest_first);
    for version in versions.iter().take(CANDIDATES_MAX) {
        let version = format!("v{version}");
        match repository.published(&version, METADATA).await {
            Ok(_) => return Ok(version),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::invalid("failed to find releases tagged with a valid semantic version number"))
}
