//! Turns: one process at a time changes the data directory, and one of its tasks gets a certain image. Commands use that of a server that runs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::Result;
use container_images::{Locked, Locks};
use machinery::clock::Clock;
use parking_lot::Mutex;
use system_containers::Report;

/// The pause between two attempts to get a lock.
const AGAIN: Duration = Duration::from_millis(50);
/// The file that is locked.
const FILE: &str = "lock";

/// The turns of one data directory.
pub(crate) struct Turns {
    path: PathBuf,
    clock: Clock,
    names: Locks,
    /// The lock of this process, as long as one of its tasks has a turn.
    own: Mutex<Weak<File>>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn {
    _name: Locked,
    _file: Arc<File>,
}

impl Turns {
    pub(crate) fn new(data: &Path, clock: Clock) -> Self {
        Self { path: data.join(FILE), clock, names: Locks::default(), own: Mutex::default() }
    }

    /// Waits for the turn of an image: nobody else gets it then, and others of this process get other ones. `report` is told that another process
    /// has the directory.
    pub(crate) async fn wait(&self, image: &str, report: Report<'_>) -> Result<Turn> {
        let name = self.names.lock(image).await;
        let mut is_told = false;
        loop {
            if let Some(file) = self.attempt()? {
                return Ok(Turn { _name: name, _file: file });
            }
            if !is_told {
                report("waiting for another process, which gets an image");
                is_told = true;
            }
            self.clock.sleep(AGAIN).await;
        }
    }

    fn attempt(&self) -> Result<Option<Arc<File>>> {
        let mut own = self.own.lock();
        if let Some(file) = own.upgrade() {
            return Ok(Some(file));
        }
        let file = files::try_lock(&self.path)?.map(Arc::new);
        *own = file.as_ref().map(Arc::downgrade).unwrap_or_default();
        Ok(file)
    }

    /// Takes a turn for `work`, or returns `None` if another process has it.
    pub(crate) fn if_free<T>(data: &Path, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let file = files::try_lock(&data.join(FILE))?;
        file.map(|_file| work()).transpose()
    }
}
