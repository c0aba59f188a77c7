//! Checks the providers of both servers.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::inventory::Provider;

/// Returns a finding for each provider of the source that the target lacks in the same or a newer version. If a provider was installed
/// there without clusterctl, the target has its kinds but no entry in the inventory; the pivot adds the entry.
pub fn providers(source: &[Provider], target: &[Provider], kinds: &BTreeSet<&str>) -> Vec<Finding> {
    let mut found = Vec::new();
    for provider in source {
        let there = target.iter().find(|other| other.is(provider));
        let object = format!("{} {}", provider.kind, provider.name);
        match there {
            None if kinds.contains(provider.name.as_str()) => found.push(Finding::warning(
                object,
                "the target has its kinds, but no entry in clusterctl's inventory",
                format!("it is entered there as {}; correct its version if that is another", provider.version),
            )),
            None => found.push(Finding::error(
                object,
                "the target does not have it",
                format!(
                    "install {} or newer at the target with `clusterctl init`, or these controllers with --install",
                    provider.version
                ),
            )),
            Some(there) if version(&there.version) < version(&provider.version) => found.push(Finding::error(
                object,
                format!("the target has {}, older than {} at the source", there.version, provider.version),
                "upgrade it at the target with `clusterctl upgrade apply`",
            )),
            Some(_) => {}
        }
    }
    found
}

/// Parses a semantic version: its numbers, whether it is a release, and the parts of its prerelease.
pub fn version(text: &str) -> (Vec<u64>, bool, Vec<(u64, String)>) {
    let text = text.trim_start_matches('v').split('+').next().unwrap_or_default();
    let (numbers, prerelease) = text.split_once('-').unwrap_or((text, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    let parts = prerelease.split('.').map(|part| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    });
    (numbers, prerelease.is_empty(), parts.collect())
}
