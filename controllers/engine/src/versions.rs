//! Counting replicas by version.

use std::collections::BTreeMap;

use schemas::meta::StatusVersion;
use schemas::version::Version;

/// Adds up replicas by version, oldest version first; texts that are not versions come before them, sorted by
/// name.
pub fn count<'a>(versions: impl Iterator<Item = (&'a str, i32)>) -> Vec<StatusVersion> {
    let mut counts: BTreeMap<(Option<Version>, &str), i32> = BTreeMap::new();
    for (version, replicas) in versions {
        *counts.entry((Version::parse(version), version)).or_default() += replicas;
    }
    counts
        .into_iter()
        .map(|((_, version), replicas)| StatusVersion {
            version: version.to_owned(),
            replicas: Some(replicas),
        })
        .collect()
}
