//! Kubernetes versions as Cluster API's rules compare them.

use semver::{BuildMetadata, Prerelease, Version};

/// Parses a version as upstream's rules about two versions do: `v` and missing numbers at the end are optional.
pub fn tolerant(text: &str) -> Option<Version> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 {
        parts.resize(3, "0".to_owned());
    }
    Version::parse(&parts.join(".")).ok()
}

/// Returns the text without zeros before another digit.
fn without_zeros(text: &str) -> String {
    let rest = text.trim_start_matches('0');
    if rest.len() == text.len() || rest.starts_with(|first: char| first.is_ascii_digit()) {
        rest.to_owned()
    } else {
        format!("0{rest}")
    }
}

/// Returns the version without its pre-release and build.
pub fn release(version: &Version) -> Version {
    Version { pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY, ..version.clone() }
}

/// Returns whether `version` counts as later than `other`: by precedence, and if that is the same, by its build. Builds with different
/// words, such as hashes of commits, have no order; either counts as later than the other.
pub fn is_later(version: &Version, other: &Version) -> bool {
    match version.cmp_precedence(other) {
        std::cmp::Ordering::Equal => has_later_build(&version.build, &other.build),
        order => order.is_gt(),
    }
}

fn has_later_build(build: &BuildMetadata, other: &BuildMetadata) -> bool {
    let parts = |build: &BuildMetadata| -> Vec<String> {
        build.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (build, other) = (parts(build), parts(other));
    for (part, other) in build.iter().zip(&other) {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        match (number(part), number(other)) {
            (true, true) => {
                // Numbers of any length: without zeros before them, the longer one is greater.
                let (part, other) = (part.trim_start_matches('0'), other.trim_start_matches('0'));
                match part.len().cmp(&other.len()).then(part.cmp(other)) {
                    std::cmp::Ordering::Equal => {}
                    order => return order.is_gt(),
                }
            }
            (true, false) => return false,
            (false, true) => return true,
            (false, false) if part == other => {}
            (false, false) => return true,
        }
    }
    build.len() > other.len()
}
