//! The lock file with which kubectl, too, keeps others from writing a kubeconfig.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What is in a lock of this program; that of kubectl is empty.
const MARK: &[u8] = b"firstlight\n";

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
        // Whoever holds a lock of this program holds the folder, too, so this one is of a process that was killed.
        if std::fs::read(&path).is_ok_and(|content| content == MARK) {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        let failed = |path: &Path| format!("cannot create {}", path.display());
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut created) => {
                let lock = Self { path, _turn: turn };
                created.write_all(MARK).with_context(|| failed(&lock.path))?;
                Ok(lock)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
                "{} is locked by another program; if none is writing it, remove {}",
                file.display(),
                path.display()
            ),
            Err(error) => Err(error).with_context(|| failed(&path)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If the file cannot be removed, the next program that takes the lock names it.
        drop(std::fs::remove_file(&self.path));
    }
}
