//! Locks between processes. The kernel releases a lock when the last process has closed its file, however it ends.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Takes the lock at `path`, whose file and folder are made if they do not exist; `None` if somebody has it. It is held until the file is closed.
///
/// # Errors
/// The file cannot be made or locked.
pub fn try_lock(path: &Path) -> Result<Option<File>> {
    attempt(path, File::try_lock)
}

/// The same for a lock that several may have at the same time, while nobody has it alone.
///
/// # Errors
/// As [`try_lock`].
pub fn try_lock_shared(path: &Path) -> Result<Option<File>> {
    attempt(path, File::try_lock_shared)
}

/// The same as [`try_lock`], and waits until nobody has it. The thread must be one that may wait.
///
/// # Errors
/// As [`try_lock`].
pub fn lock(path: &Path) -> Result<File> {
    loop {
        if let Some(file) = attempt(path, |file| file.lock().map_err(TryLockError::Error))? {
            return Ok(file);
        }
    }
}

fn attempt(path: &Path, lock: impl FnOnce(&File) -> Result<(), TryLockError>) -> Result<Option<File>> {
    let cannot = || format!("cannot lock {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path).with_context(cannot)?;
    match lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    // The file may have been removed in the meantime, so that another process could lock a new one.
    let is_same =
        fs::metadata(path).is_ok_and(|found| file.metadata().is_ok_and(|own| own.ino() == found.ino()));
    Ok(is_same.then_some(file))
}
