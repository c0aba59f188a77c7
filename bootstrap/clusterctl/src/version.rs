//! Version tags of providers: `v1.14.0`, `v1.15.0-beta.1`.

use semver::Version;

/// Parses a version with or without `v`.
pub fn parse(text: &str) -> Option<Version> {
    Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
}

/// The order for finding the latest version: releases before prereleases, newer ones first.
pub fn latest_first(a: &Version, b: &Version) -> std::cmp::Ordering {
    a.pre.is_empty().cmp(&b.pre.is_empty()).reverse().then_with(|| b.cmp_precedence(a))
}
