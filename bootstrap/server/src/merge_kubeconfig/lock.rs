//! The lock file with which kubectl, too, keeps others from writing a kubeconfig.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
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
        // It has its mark from the first moment on. Of this program, only the holder of the folder writes the file beside it.
        let mut beside: OsString = path.as_os_str().to_owned();
        beside.push(".new");
        let linked = std::fs::write(&beside, MARK).and_then(|()| std::fs::hard_link(&beside, &path));
        drop(std::fs::remove_file(&beside));
        match linked {
            Ok(()) => Ok(Self { path, _turn: turn }),
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
