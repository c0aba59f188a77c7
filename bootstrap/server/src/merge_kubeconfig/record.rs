//! What a data directory remembers about the user's kubeconfig that has its entries, so that they can be taken out again.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::data_directory::{DataDirectory, write_private};

/// The user's kubeconfig that has the entries of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The file.
    pub(super) file: PathBuf,
    /// The context that was the current one before.
    pub(super) former: Option<String>,
    /// Whether the file did not exist before.
    pub(super) created: bool,
    /// The path of the data directory when its server was merged; `None` in a record of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

impl Record {
    fn path(directory: &DataDirectory) -> PathBuf {
        directory.path().join("merged.json")
    }

    /// Returns the record of a data directory, if its server is merged into a file.
    ///
    /// # Errors
    /// The record cannot be read or is damaged.
    pub(super) fn of(directory: &DataDirectory) -> Result<Option<Self>> {
        let path = Self::path(directory);
        let failed = |path: &Path| format!("cannot read {}", path.display());
        match std::fs::read(&path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).with_context(|| failed(&path))?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| failed(&path)),
        }
    }

    /// Returns the records of those of the data directories `all` whose servers are merged into `file`. What cannot be read is left out.
    pub(super) fn in_file(file: &Path, all: impl Iterator<Item = String>) -> Vec<(DataDirectory, Self)> {
        let directories = all.filter_map(|path| DataDirectory::locate(Some(Path::new(&path))).ok());
        let records = directories.filter_map(|directory| {
            let record = Self::of(&directory).ok()??;
            (record.file == file).then_some((directory, record))
        });
        records.collect()
    }

    pub(super) fn write(&self, directory: &DataDirectory) -> Result<()> {
        write_private(&Self::path(directory), &serde_json::to_vec_pretty(self)?)
    }

    pub(super) fn remove(directory: &DataDirectory) -> Result<()> {
        let path = Self::path(directory);
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
    }
}
