//! Versions as providers are tagged with: `v1.14.0`, `v1.15.0-beta.1`.

use semver::Version;

/// Reads one, with or without the `v`.
pub fn parse(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// The order in which the latest is looked for: releases before anything not yet released, newer ones first.
pub fn latest_first(a: &Version, b: &Version) -> std::cmp::Ordering {
    a.pre.is_empty().cmp(&b.pre.is_empty()).reverse().then_with(|| b.cmp_precedence(a))
}
