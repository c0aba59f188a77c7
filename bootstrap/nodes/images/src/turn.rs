//! Turns: one process at a time, and one task of it, changes the data directory. Commands use that of a server that runs.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use system_containers::Report;
use tokio::sync::{Mutex, MutexGuard};

/// The pause between two attempts to get a lock.
const AGAIN: Duration = Duration::from_millis(50);
/// The file that is locked. The kernel releases the lock with the process that has it.
const FILE: &str = "lock";

/// The turns of one data directory.
pub(crate) struct Turns {
    path: PathBuf,
    clock: Clock,
    own: Mutex<()>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a> {
    _file: File,
    _own: MutexGuard<'a, ()>,
}

impl Turns {
    pub(crate) fn new(data: &Path, clock: Clock) -> Self {
        Self { path: data.join(FILE), clock, own: Mutex::default() }
    }

    /// Waits for a turn. `report` is told that another process has it.
    pub(crate) async fn wait(&self, report: Report<'_>) -> Result<Turn<'_>> {
        let own = self.own.lock().await;
        let mut is_told = false;
        loop {
            if let Some(file) = attempt(&self.path)? {
                return Ok(Turn { _file: file, _own: own });
            }
            if !is_told {
                report("waiting for another process, which gets an image");
                is_told = true;
            }
            self.clock.sleep(AGAIN).await;
        }
    }

    /// Takes a turn for `work`, or returns `None` if another process has it.
    pub(crate) fn if_free<T>(data: &Path, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let file = attempt(&data.join(FILE))?;
        file.map(|_file| work()).transpose()
    }
}

fn attempt(path: &Path) -> Result<Option<File>> {
    let cannot = || format!("cannot lock {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path).with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).with_context(cannot),
    }
}
