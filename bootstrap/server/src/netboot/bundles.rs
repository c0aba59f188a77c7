//! The bundles of `--bundle`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use bundle::{Bundle, Catalogue, FileKind};
use metal_boot::images::assets::{Assets, NewAsset};

/// Opens bundles. Their tables and manifests are read and checked, and nothing else.
///
/// # Errors
/// A file is no bundle, or is damaged; the message names it.
pub fn open(paths: &[PathBuf]) -> Result<Arc<Catalogue>> {
    let bundles = paths.iter().map(|path| Bundle::open(path)).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Catalogue::of(&bundles)?))
}

/// Adds the boot files of bundles to those of the site in `folder`; files that are there already are not written again. They are files of the
/// data directory, because boot images are made from them, and a machine may boot from them after the bundle is gone.
///
/// # Errors
/// A file is damaged, or cannot be written.
pub(super) fn take_boot_files(catalogue: &Catalogue, folder: &Path) -> Result<()> {
    let files = catalogue.files(FileKind::Boot);
    let new = files.map(|(title, _, stored)| NewAsset {
        path: title.clone(),
        sha256: stored.digest.hex(),
        content: Box::new(stored.reader()),
    });
    let taken = Assets::new(folder).take_all(new).context("boot files of the bundle cannot be used")?;
    if taken > 0 {
        tracing::info!(files = taken, "boot files of bundles");
    }
    Ok(())
}
