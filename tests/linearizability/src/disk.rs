//! A file that can become full and slow.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use redb::StorageBackend;
use redb::backends::FileBackend;

/// The faults of a disk.
#[derive(Debug, Default)]
pub struct Faults {
    /// Whether the disk is full, so that nothing can be written.
    pub full: AtomicBool,
    /// Additional duration of each sync in milliseconds.
    pub slow: AtomicU64,
}

/// The disk of a store. Clones share the disk.
#[derive(Clone)]
pub struct FaultyDisk {
    /// The file.
    pub path: PathBuf,
    /// The present faults.
    pub faults: Arc<Faults>,
}

#[derive(Debug)]
struct Backend {
    file: FileBackend,
    faults: Arc<Faults>,
}

impl Backend {
    fn room(&self) -> io::Result<()> {
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len > self.file.len()? {
            self.room()?;
        }
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let slow = self.faults.slow.load(Ordering::SeqCst);
        if slow > 0 {
            // A slow sync blocks the calling thread.
            Condvar::new().wait_for(&mut Mutex::new(()).lock(), Duration::from_millis(slow));
        }
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.room()?;
        self.file.write(offset, data)
    }
}

impl store::Disk for FaultyDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&self.path)?;
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Box::new(Backend { file, faults: self.faults.clone() }))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}
