//! The lock file with which kubectl, too, keeps others from writing a kubeconfig.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A lock, which its drop removes.
pub(super) struct Lock {
    path: PathBuf,
    /// The locked folder of the file: several servers that start or stop at once write it one after the other. kubectl waits for nobody.
    _turn: File,
}

impl Lock {
    pub(super) fn take(file: &Path) -> Result<Self> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let turn = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
        let turn = turn.with_context(|| format!("cannot lock {}", folder.display()))?;
        let mut name: OsString = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(Self { path, _turn: turn }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
                "{} is locked by another program; if none is writing it, remove {}",
                file.display(),
                path.display()
            ),
            Err(error) => Err(error).with_context(|| format!("cannot create {}", path.display())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If the file cannot be removed, the next program that takes the lock names it.
        drop(std::fs::remove_file(&self.path));
    }
}
