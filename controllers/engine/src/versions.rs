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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_first() {
        let versions = ["v1.36.0", "v1.35.0", "v1.35.0+build.1", "v1.35.0-alpha.1", "v1.36.0", "latest"];
        let counted = count(versions.into_iter().map(|version| (version, 1)));
        let counted: Vec<(&str, Option<i32>)> =
            counted.iter().map(|counted| (counted.version.as_str(), counted.replicas)).collect();
        let wanted = [
            ("latest", Some(1)),
            ("v1.35.0-alpha.1", Some(1)),
            ("v1.35.0", Some(1)),
            ("v1.35.0+build.1", Some(1)),
            ("v1.36.0", Some(2)),
        ];
        assert_eq!(counted, wanted);
    }
}
