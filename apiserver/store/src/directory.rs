//! The data directory, which is private to its owner and locked by one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::error::EngineError;

/// The lock file, which contains the number of the process that holds the lock.
const LOCK_FILE: &str = "lock";

/// A locked data directory. Clones share the lock, which is released when the last clone is dropped or the process
/// ends.
#[derive(Clone, Debug)]
pub struct DataDirectory(Arc<Locked>);

#[derive(Debug)]
struct Locked {
    path: PathBuf,
    lock: File,
    /// Closed after the lock is released.
    held: watch::Sender<()>,
}

impl Drop for Locked {
    /// Closing the file would not be enough: a program that this process starts at the same moment has a copy until it runs, and the copy
    /// holds the lock.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "cannot unlock {}", self.path.display());
        }
    }
}

impl DataDirectory {
    /// Creates the directory with mode 0700 if it is missing, and locks it.
    ///
    /// # Errors
    /// Another process holds the lock, other users can read the directory, or the file system returns an error.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(path).map_err(failed("create", path))?;
        make_private(path)?;
        let lock_path = path.join(LOCK_FILE);
        let mut lock = private_file()
            .read(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(failed("open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(path, &mut lock)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &lock_path)(error)),
        }
        // The lock is valid regardless of the file's content, which cannot be written on a full disk.
        if let Err(error) = record_holder(&mut lock) {
            tracing::warn!(%error, "cannot write {}", lock_path.display());
        }
        Ok(Self(Arc::new(Locked { path: path.to_owned(), lock, held: watch::Sender::new(()) })))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns a future that ends when all clones have been dropped and the lock is released. It holds none itself.
    pub fn released(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut held = self.0.held.subscribe();
        // Nothing is ever sent.
        async move { while held.changed().await.is_ok() {} }
    }
}

impl AsFd for DataDirectory {
    /// Returns the file that is locked.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.lock.as_fd()
    }
}

/// Restricts the mode of the directory to 0700, unless it contains files of other programs, because then it may be the
/// wrong directory.
fn make_private(path: &Path) -> Result<(), EngineError> {
    let mode = path.metadata().map_err(failed("read", path))?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let ours = path.join(LOCK_FILE).exists();
    let empty = path.read_dir().map_err(failed("read", path))?.next().is_none();
    if !ours && !empty {
        return Err(EngineError::Exposed { path: path.to_owned(), mode });
    }
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).map_err(failed("set the mode of", path))
}

fn in_use(path: &Path, lock: &mut File) -> EngineError {
    let mut text = String::new();
    let holder = match lock.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    EngineError::InUse { path: path.to_owned(), holder }
}

fn record_holder(lock: &mut File) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.seek(SeekFrom::Start(0))?;
    writeln!(lock, "{}", std::process::id())
}

/// Returns options for writing a file that only its owner can read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Converts an I/O error to an [`EngineError`] with the step and the file.
pub(crate) fn failed(step: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> EngineError {
    let file = path.display().to_string();
    move |error| EngineError::Failed { step, file, reason: error.to_string() }
}
