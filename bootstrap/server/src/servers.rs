//! The data directories of this user's servers, so that `firstlight list` finds them all.
//!
//! There is a file for each directory. A server writes its file when it starts; the file of a directory that is gone is removed.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data_directory::{DataDirectory, update_private};

/// What a file says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Known {
    data_directory: PathBuf,
}

/// Returns the folder of this user's state: `$XDG_STATE_HOME/firstlight`, or `~/.local/state/firstlight`.
///
/// # Errors
/// Neither `HOME` nor `XDG_STATE_HOME` is set.
pub fn state_folder() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    Ok(base.context("neither HOME nor XDG_STATE_HOME is set")?.join("firstlight"))
}

/// Remembers a data directory.
///
/// # Errors
/// The file cannot be written.
pub fn remember(directory: &DataDirectory) -> Result<()> {
    let path = directory.path();
    let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let file = state_folder()?.join("servers").join(format!("{name}.json"));
    update_private(&file, &serde_json::to_vec_pretty(&Known { data_directory: path })?)
}

/// Returns the data directories that exist, sorted by path.
///
/// # Errors
/// The folder cannot be read.
pub fn all() -> Result<Vec<DataDirectory>> {
    let folder = state_folder()?.join("servers");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut directories = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let known = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Known>(&text).ok());
        let Some(known) = known else { continue };
        if known.data_directory.is_dir() {
            directories.push(DataDirectory::locate(Some(&known.data_directory))?);
        } else {
            // Another `list` may have removed it.
            drop(std::fs::remove_file(path));
        }
    }
    directories.sort_by(|one, other| one.path().cmp(other.path()));
    Ok(directories)
}
