//! Locks between operations, also those of other processes. The kernel releases a lock when its process ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use machinery::clock::Clock;

/// The pause between two attempts to get a lock.
const AGAIN: Duration = Duration::from_millis(10);

/// A lock, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Returns the locked file. Whoever inherits it has the lock.
    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// Removes the file of the lock. Whoever waits for it makes another one.
    pub(super) fn remove(self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Waits for a lock.
pub(super) async fn take(clock: &Clock, path: &Path, time: Duration) -> Result<Lock> {
    let deadline = clock.monotonic() + time;
    loop {
        if let Some(lock) = attempt(path)? {
            return Ok(lock);
        }
        if clock.monotonic() >= deadline {
            bail!(
                "another operation has {} for more than {} s: wait for its end",
                path.display(),
                time.as_secs()
            );
        }
        clock.sleep(AGAIN).await;
    }
}

/// Takes a lock; `None` if somebody has it.
pub(super) fn attempt(path: &Path) -> Result<Option<Lock>> {
    Ok(files::try_lock(path)?.map(|file| Lock { file, path: path.to_owned() }))
}
