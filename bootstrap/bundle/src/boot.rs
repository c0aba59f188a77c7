//! Boot files, as `firstlight metal assets` knows them.

use std::path::Path;

use anyhow::{Context, Result};
use metal_boot::images::assets::Assets;
use tempfile::TempDir;

use crate::files::{FileKind, NewFile};

/// A temporary folder with the boot files that were recognised. It is removed when it is dropped.
pub struct BootFolder {
    folder: TempDir,
    assets: Assets,
}

impl BootFolder {
    /// Makes an empty folder beside the bundle.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn beside(bundle: &Path) -> Result<Self> {
        let folder =
            TempDir::new_in(crate::write::scratch(bundle)).context("cannot make a temporary folder")?;
        let assets = Assets::new(folder.path());
        Ok(Self { folder, assets })
    }

    /// Returns the folder, for other temporary files.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Copies all kernels, modules, stubs and boot programs of a file or folder. Returns a line for each.
    ///
    /// # Errors
    /// Nothing was recognised, or a file cannot be copied.
    pub fn add(&self, path: &Path) -> Result<Vec<String>> {
        self.assets.add(path)
    }

    /// Returns the files for the bundle.
    ///
    /// # Errors
    /// A file is missing.
    pub fn files(&self) -> Result<Vec<NewFile>> {
        let file =
            |title: String| NewFile { kind: FileKind::Boot, path: self.folder.path().join(&title), title };
        Ok(self.assets.list()?.into_iter().map(|asset| file(asset.path)).collect())
    }
}
