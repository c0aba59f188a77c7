//! Kubernetes versions: comparison, and counting replicas by version.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemas::meta::StatusVersion;

/// A semantic version with an optional leading `v`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Major version.
    pub major: u64,
    /// Minor version.
    pub minor: u64,
    /// Patch version.
    pub patch: u64,
    pre: Vec<String>,
    build: Vec<String>,
}

impl Version {
    /// Parses `v1.36.0` or `1.36.0-rc.1+build`; `None` if the text is not a version.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text.split_once('+').map_or((text, ""), |(text, build)| (text, build));
        let (text, pre) = text.split_once('-').map_or((text, ""), |(text, pre)| (text, pre));
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let (major, minor, patch) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let parts = |text: &str| text.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        numbers.next().is_none().then(|| Self { major, minor, patch, pre: parts(pre), build: parts(build) })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        // A release is newer than its pre-releases.
        let released = self.pre.is_empty().cmp(&other.pre.is_empty());
        numbers
            .then(released)
            .then_with(|| identifiers(&self.pre, &other.pre))
            .then_with(|| identifiers(&self.build, &other.build))
    }
}

fn identifiers(a: &[String], b: &[String]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

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
    fn order() {
        let sorted = [
            "v1.35.0-alpha.1",
            "v1.35.0-alpha.2",
            "v1.35.0",
            "v1.35.0+build.1",
            "v1.35.1",
            "v1.36.0",
            "v2.0.0",
        ];
        let parsed: Vec<Version> = sorted.iter().map(|text| Version::parse(text).unwrap()).collect();
        assert!(parsed.is_sorted());
        assert_eq!(Version::parse("v1.35"), None);
    }
}
