//! Files that somebody else has read, for example from ConfigMaps.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Context, Error, Result, version};

/// The name of the file with the components.
pub const COMPONENTS: &str = "components.yaml";
/// The name of the file with the release series.
pub const METADATA: &str = "metadata.yaml";

/// The files of the versions of one provider.
#[derive(Debug, Clone, Default)]
pub struct Supplied(BTreeMap<String, BTreeMap<String, Bytes>>);

impl Supplied {
    /// Adds a file of a version, such as [`COMPONENTS`].
    pub fn add(&mut self, version: &str, name: &str, content: impl Into<Bytes>) {
        self.0.entry(version.to_owned()).or_default().insert(name.to_owned(), content.into());
    }

    /// Returns whether it has files of a version.
    pub fn has(&self, version: &str) -> bool {
        self.0.contains_key(version)
    }

    pub(super) fn file(&self, version: &str, name: &str) -> Result<Bytes> {
        let failed = || format!("failed to get file {name:?} with version {version:?}");
        let found = self.0.get(version).and_then(|files| files.get(name));
        found.cloned().ok_or(Error::NotFound).context(failed)
    }

    pub(super) fn versions(&self) -> Vec<String> {
        self.0.keys().filter(|name| version::parse(name).is_some()).cloned().collect()
    }

    /// The newest version, whether it is a release or a prerelease.
    pub(super) fn newest(&self) -> Option<&String> {
        let parsed = self.0.keys().filter_map(|name| Some((version::parse(name)?, name)));
        parsed.max_by(|(a, _), (b, _)| a.cmp_precedence(b)).map(|(_, name)| name)
    }
}
