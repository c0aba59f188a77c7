//! Providers in a bundle: `LABEL/VERSION/FILE` among its files.

use std::sync::Arc;

use bundle::{Catalogue, FileKind, Stored};
use bytes::Bytes;

use super::published::Published;
use crate::configuration::Provider;
use crate::{Context, Error, Result, version};

/// The largest file of a provider in bytes.
const FILE: u64 = 64 << 20;

/// The files of one provider.
pub(super) struct Bundled {
    catalogue: Arc<Catalogue>,
    label: String,
}

/// The files of a provider, if the bundle has them. The version and the name of the components file are those of the provider's URL.
pub(super) fn find(catalogue: &Arc<Catalogue>, provider: &Provider) -> Option<Published<Bundled>> {
    let bundled = Bundled { catalogue: catalogue.clone(), label: provider.label() };
    let versions = bundled.versions();
    if versions.is_empty() {
        return None;
    }
    let (folder, file) = provider.split_url();
    let named = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let version = if versions.iter().any(|version| version == named) { named } else { "latest" };
    Some(Published { source: bundled, version: version.to_owned(), components_file: file.to_owned() })
}

impl Bundled {
    fn files(&self) -> impl Iterator<Item = (&str, &str, &Stored)> {
        self.catalogue.files(FileKind::Providers).filter_map(move |(title, _, stored)| {
            let (release, file) = title.strip_prefix(&self.label)?.strip_prefix('/')?.split_once('/')?;
            Some((release, file, stored))
        })
    }

    pub fn file(&self, version: &str, name: &str) -> Result<Bytes> {
        let failed = || format!("failed to get file {name:?} with version {version:?} from the bundle");
        let found = self.files().find(|(release, file, _)| (*release, *file) == (version, name));
        let (.., stored) = found.ok_or(Error::NotFound).context(failed)?;
        let content = stored.content(FILE).map_err(|error| Error::invalid(format!("{error:#}")));
        Ok(content.context(failed)?.into())
    }

    pub fn versions(&self) -> Vec<String> {
        let mut all: Vec<String> = self.files().map(|(release, ..)| release.to_owned()).collect();
        all.sort();
        all.dedup();
        all.retain(|release| version::parse(release).is_some());
        all
    }
}
