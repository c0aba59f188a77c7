//! Providers of both servers.

use super::Finding;
use crate::inventory::Provider;

/// Every provider of the source must be at the target, as new or newer.
pub(super) fn providers(source: &[Provider], target: &[Provider]) -> Vec<Finding> {
    let mut found = Vec::new();
    for provider in source {
        let there = target.iter().find(|other| other.name == provider.name && other.kind == provider.kind);
        let object = format!("{} {}", provider.kind, provider.name);
        let Some(there) = there else {
            let advice =
                format!("install {} or newer at the target with `clusterctl init`", provider.version);
            found.push(Finding::error(object, "the target does not have it", advice));
            continue;
        };
        if version(&there.version) < version(&provider.version) {
            let what =
                format!("the target has {}, older than {} at the source", there.version, provider.version);
            found.push(Finding::error(
                object,
                what,
                "upgrade it at the target with `clusterctl upgrade apply`",
            ));
        }
    }
    found
}

/// Numbers of a semantic version, then whether it is a release, then the parts of its prerelease.
fn version(text: &str) -> (Vec<u64>, bool, Vec<(u64, String)>) {
    let text = text.trim_start_matches('v').split('+').next().unwrap_or_default();
    let (numbers, prerelease) = text.split_once('-').unwrap_or((text, ""));
    let numbers = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
    let parts = prerelease.split('.').map(|part| match part.parse() {
        Ok(number) => (number, String::new()),
        Err(_) => (u64::MAX, part.to_owned()),
    });
    (numbers, prerelease.is_empty(), parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_versions() {
        let order = ["v1.9.0", "v1.10.0-alpha.1", "v1.10.0-alpha.10", "v1.10.0-rc.0", "v1.10.0", "v1.10.1+x"];
        for pair in order.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn providers_must_be_there_and_not_older() {
        let provider = |name: &str, version: &str| Provider {
            namespace: "n".into(),
            name: name.into(),
            kind: "CoreProvider".into(),
            version: version.into(),
        };
        let source = [provider("a", "v1.2.0"), provider("b", "v1.2.0"), provider("c", "v1.2.0")];
        let target = [provider("a", "v1.10.0"), provider("b", "v1.1.9")];
        let found: Vec<String> = providers(&source, &target).into_iter().map(|found| found.object).collect();
        assert_eq!(found, ["CoreProvider b", "CoreProvider c"]);
    }
}
