//! The file below redb. All reads and writes of redb pass through this module.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::StorageBackend;

use crate::directory::{DataDirectory, private_file};
use crate::limits::RESERVE_BYTES;

/// A file that occupies space, which is released when the disk is full and a client deletes objects.
const RESERVE_FILE: &str = "store.reserve";
/// Size of the pieces in which the reserve file is written, in bytes.
const PIECE: usize = 64 << 10;

/// A place that redb writes to. Crash tests provide their own implementation.
pub trait Disk: Send + Sync + 'static {
    /// Opens the file. The engine calls it again after the disk was full, and for verification.
    ///
    /// # Errors
    /// Errors of the file system.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// Returns the name for error messages.
    fn name(&self) -> String;

    /// Reserves space for deletions on a full disk. Returns whether space is now reserved.
    fn reserve(&self) -> bool {
        true
    }

    /// Releases the reserved space. Returns whether there was any.
    fn release(&self) -> bool {
        false
    }

    /// Returns whether the reserved space was released, perhaps by an earlier process, and is not reserved again.
    fn is_released(&self) -> bool {
        false
    }
}

/// The file of a data directory.
pub(super) struct FileDisk {
    pub(super) path: PathBuf,
    pub(super) _directory: DataDirectory,
}

impl FileDisk {
    fn reserve_file(&self) -> PathBuf {
        self.path.with_file_name(RESERVE_FILE)
    }
}

impl Disk for FileDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        let file = private_file().read(true).open(&self.path)?;
        let backend = redb::backends::FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Box::new(backend))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn reserve(&self) -> bool {
        let path = self.reserve_file();
        if path.metadata().is_ok_and(|found| found.len() == RESERVE_BYTES) {
            return true;
        }
        let filled = fill(&path);
        if let Err(error) = &filled {
            tracing::warn!(%error, "cannot reserve space for deletions in {}", path.display());
            // A partially written reserve file takes space that is needed.
            self.release();
        }
        filled.is_ok()
    }

    fn release(&self) -> bool {
        let held = self.reserve_file().metadata().is_ok_and(|found| found.len() > 0);
        held && private_file().open(self.reserve_file()).and_then(|file| file.set_len(0)).is_ok()
    }

    fn is_released(&self) -> bool {
        self.reserve_file().metadata().is_ok_and(|found| found.len() < RESERVE_BYTES)
    }
}

/// Fills the file with data that no file system can compress, unlike zeros, so that its blocks are allocated.
fn fill(path: &Path) -> io::Result<()> {
    let mut file = private_file().create(true).truncate(true).open(path)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut piece = Vec::with_capacity(PIECE);
    while piece.len() < PIECE {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        piece.extend(state.to_le_bytes());
    }
    for number in 0..RESERVE_BYTES / PIECE as u64 {
        piece[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&piece)?;
    }
    file.sync_all()
}

/// Problems below redb since the file was opened, which redb's own errors do not tell, and the length of the file.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    pub(super) full: AtomicBool,
    pub(super) sync: AtomicBool,
    pub(super) length: AtomicU64,
}

/// The storage backend between redb and the disk, which records problems. It implements no locking, because the data
/// directory is locked.
pub(super) struct Backend {
    inner: Box<dyn StorageBackend>,
    trouble: Arc<Trouble>,
}

impl Backend {
    pub(super) fn new(inner: Box<dyn StorageBackend>, trouble: Arc<Trouble>) -> Self {
        trouble.length.store(inner.len().unwrap_or_default(), Ordering::Relaxed);
        Self { inner, trouble }
    }

    fn watch_space<T>(&self, result: io::Result<T>) -> io::Result<T> {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if let Err(error) = &result
            && matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
        {
            self.trouble.full.store(true, Ordering::Release);
        }
        result
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch_space(self.inner.set_len(len))?;
        self.trouble.length.store(len, Ordering::Relaxed);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data().inspect_err(|_| self.trouble.sync.store(true, Ordering::Release))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.watch_space(self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}
