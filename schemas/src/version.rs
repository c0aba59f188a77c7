//! Kubernetes versions.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use semver::{BuildMetadata, Prerelease};

/// A semantic version, written with a leading `v`. Build metadata is kept but not compared.
#[derive(Debug, Clone)]
pub struct Version(semver::Version);

impl Version {
    /// Parses `v1.35.0` or `1.35.0-rc.1+build`; `None` if the text is not a semantic version.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).ok().map(Self)
    }

    /// Creates a release version.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version { major, minor, patch, pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY })
    }

    /// Returns the version without pre-release and build metadata, for rules such as "from 1.31", which
    /// include pre-releases of 1.31.
    pub fn release(&self) -> Self {
        Self::new(self.major, self.minor, self.patch)
    }

    /// Returns whether the version is `major.minor` or later; pre-releases count.
    pub fn at_least(&self, major: u64, minor: u64) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl Deref for Version {
    type Target = semver::Version;

    fn deref(&self) -> &semver::Version {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }
}
