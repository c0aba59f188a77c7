//! The versions of CoreDNS whose configuration can be rewritten for a later one.

use crate::version::Version;

/// 1.6.8, 1.8.1 and 1.8.2 have no images.
const VERSIONS: &[&str] = &[
    "1.1.3", "1.1.4", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.3.0", "1.3.1",
    "1.4.0", "1.5.0", "1.5.1", "1.5.2", "1.6.0", "1.6.1", "1.6.2", "1.6.3", "1.6.4", "1.6.5", "1.6.6",
    "1.6.7", "1.6.9", "1.7.0", "1.7.1", "1.8.0", "1.8.3", "1.8.4", "1.8.5", "1.8.6", "1.8.7", "1.9.0",
    "1.9.1", "1.9.2", "1.9.3", "1.9.4", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.11.3", "1.11.4", "1.12.0",
    "1.12.1", "1.12.2", "1.12.3", "1.12.4", "1.13.0", "1.13.1", "1.13.2", "1.14.0", "1.14.1", "1.14.2",
    "1.14.3", "1.14.4", "1.14.6",
];

/// Parses the tag of an image of CoreDNS, for example `v1.12.0_vendor.1`, without pre-release and build metadata.
pub fn version(tag: &str) -> Option<Version> {
    Version::parse(&tag.replacen('_', "+", 1)).map(|version| version.release())
}

/// Returns whether the changes of the configuration up to this version are known. Pre-release and build metadata do not matter.
pub fn is_known(version: &Version) -> bool {
    let version = version.release();
    VERSIONS.iter().filter_map(|text| Version::parse(text)).any(|known| known == version)
}

/// Checks that a configuration can be rewritten from one version to another.
///
/// # Errors
/// The reason why not.
pub fn check_update(from: &Version, to: &Version) -> Result<(), String> {
    if to < from {
        return Err(format!("CoreDNS can't be downgraded from {from} to {to}"));
    }
    match [from, to].into_iter().find(|version| !is_known(version)) {
        Some(unknown) if from != to => Err(format!("the changes of CoreDNS {unknown} are not known")),
        _ => Ok(()),
    }
}
