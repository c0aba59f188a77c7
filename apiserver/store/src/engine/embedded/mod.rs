//! The default engine, which is one redb file.
//!
//! Table `changes` has one row for each revision, and table `meta` four numbers. After the store is open, only the
//! older part of the history is read from the file, so the cache is small. One commit is one redb transaction with one
//! fsync. `quick_repair` is only on for batches without changes that are made when nobody writes: it costs a second
//! fsync, but saves reading the whole file twice at the first start after a crash.

mod backend;
mod check;
mod damage;
mod file;
mod load;
mod tables;

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

pub use backend::Disk;
pub(super) use file::FILE;

use self::backend::FileDisk;
use self::check::Header;
use self::damage::{cannot, damaged, guarded};
use self::tables::{Meta, Open, write};
use super::{Batch, Engine, Loaded, Size};
use crate::change::Change;
use crate::directory::DataDirectory;
use crate::error::EngineError;
use crate::limits::{COMPACT_FACTOR, COMPACT_FROM_BYTES};
use crate::revision::Revision;

/// Numbers that persist between batches and can be read during a batch.
#[derive(Default)]
struct Counts {
    /// Size of all rows in bytes, according to [`room`].
    rows: AtomicU64,
    file: AtomicU64,
    /// Whether the space that was reserved for deletions is in use.
    strained: AtomicBool,
}

/// The state of the file between two commits.
enum Slot {
    Open(Open),
    /// The disk was too full to reopen the file. Contains the content of its `meta` table.
    Full(Meta),
    /// The content of the file is unknown.
    Closed,
}

/// The embedded engine, which is durable when a commit returns.
///
/// Invariant: the file is closed before the directory's lock in `disk` is released. Fields are dropped in the order of
/// declaration.
pub struct Embedded {
    slot: Mutex<Slot>,
    counts: Counts,
    disk: Box<dyn Disk>,
}

/// Closes a file. redb then writes its free pages and may panic on those of a damaged file. This is safe, because all
/// acknowledged data is on disk already, and the next start counts the free pages again.
fn close<T>(open: T, disk: &dyn Disk) {
    if catch_unwind(AssertUnwindSafe(|| drop(open))).is_err() {
        tracing::error!("{} is damaged: the list of free pages is inconsistent", disk.name());
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        close(std::mem::replace(self.slot.get_mut(), Slot::Closed), &*self.disk);
    }
}

impl Embedded {
    /// Opens the store of a data directory, or creates it.
    ///
    /// # Errors
    /// A damaged file or one with a newer format is refused and not changed.
    pub fn open(directory: &DataDirectory) -> Result<Self, EngineError> {
        let path = file::find_or_create(directory)?;
        let embedded = Self::with_disk(FileDisk { path, _directory: directory.clone() })?;
        if embedded.disk.is_released() && !embedded.disk.reserve() {
            embedded.counts.strained.store(true, Ordering::Relaxed);
        }
        Ok(embedded)
    }

    /// Opens a store that [`Embedded::format`] prepared.
    ///
    /// # Errors
    /// As for [`Embedded::open`].
    pub fn with_disk(disk: impl Disk) -> Result<Self, EngineError> {
        let disk: Box<dyn Disk> = Box::new(disk);
        let counts = Counts::default();
        let open = match file::open(&*disk) {
            // The repair after a crash needs space.
            Err(EngineError::Full { .. }) if disk.release() => {
                counts.strained.store(true, Ordering::Relaxed);
                file::open(&*disk)?
            }
            opened => opened?,
        };
        counts.file.store(open.trouble.length.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(Self { disk, counts, slot: Mutex::new(Slot::Open(open)) })
    }

    /// Prepares an empty store on an empty disk.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn format(disk: &dyn Disk) -> Result<(), EngineError> {
        file::format(disk)
    }
}

impl Embedded {
    fn closed(&self, step: &'static str) -> EngineError {
        cannot(step, &*self.disk, "the file is closed")
    }

    /// Opens the file again after the disk was full. It must have the state before the failed batch.
    fn open_again(&self, before: Meta) -> Result<Open, EngineError> {
        let again = file::open(&*self.disk)?;
        if again.meta != before {
            return Err(damaged(&*self.disk, "the file changed while the disk was full"));
        }
        Ok(again)
    }

    /// Writes a batch. If there is no space, the file keeps its state.
    fn attempt(&self, slot: &mut Slot, batch: &Batch) -> Result<(), EngineError> {
        // If even overwriting takes space, opening fails until there is some again.
        let mut open = match std::mem::replace(slot, Slot::Closed) {
            Slot::Open(open) => open,
            Slot::Full(before) => match self.open_again(before) {
                Ok(open) => open,
                Err(error) => {
                    if matches!(error, EngineError::Full { .. }) {
                        *slot = Slot::Full(before);
                    }
                    return Err(error);
                }
            },
            Slot::Closed => return Err(self.closed("write")),
        };
        let before = open.meta;
        let error = match guarded(&*self.disk, "write", || write(&open, batch)) {
            Ok((meta, taken, given)) => {
                open.meta = meta;
                self.count(&open, taken, given);
                *slot = Slot::Open(open);
                return Ok(());
            }
            Err(error) => error,
        };
        let full = open.trouble.full.load(Ordering::Acquire) && !open.trouble.sync.load(Ordering::Acquire);
        // redb takes no more calls after an I/O error. If no fsync failed, the file has the state before this batch and
        // is opened again. After a failed fsync its state is unknown, so the file stays closed.
        close(open, &*self.disk);
        if !full {
            return Err(error);
        }
        match self.open_again(before) {
            Ok(again) => *slot = Slot::Open(again),
            Err(EngineError::Full { .. }) => *slot = Slot::Full(before),
            Err(error) => return Err(error),
        }
        Err(EngineError::Full { file: self.disk.name() })
    }

    fn count(&self, open: &Open, taken: u64, given: u64) {
        let rows = self.counts.rows.load(Ordering::Relaxed) + taken;
        self.counts.rows.store(rows.saturating_sub(given), Ordering::Relaxed);
        self.counts.file.store(open.trouble.length.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Compacts the file if it is much larger than its content, and reserves space for deletions.
    fn tidy(&self, slot: &mut Slot) -> Result<(), EngineError> {
        let Size { rows, file } = self.size();
        let strained = self.strained();
        if let Slot::Open(open) = slot
            && (strained || file > COMPACT_FROM_BYTES)
            && file > COMPACT_FACTOR * rows
        {
            let before = open.meta;
            let compacted = guarded(&*self.disk, "write", || {
                while open.database.compact().map_err(compaction)? {}
                Ok(())
            });
            self.count(open, 0, 0);
            if let Err(error) = compacted {
                let full =
                    open.trouble.full.load(Ordering::Acquire) && !open.trouble.sync.load(Ordering::Acquire);
                close(std::mem::replace(slot, Slot::Full(before)), &*self.disk);
                if !full {
                    *slot = Slot::Closed;
                    return Err(error);
                }
            }
        }
        self.counts.strained.store(!self.disk.reserve() && strained, Ordering::Relaxed);
        Ok(())
    }
}

fn compaction(error: redb::CompactionError) -> redb::Error {
    match error {
        redb::CompactionError::Storage(error) => error.into(),
        other => redb::Error::Io(io::Error::other(other)),
    }
}

impl Engine for Embedded {
    fn load(&self) -> Result<Loaded, EngineError> {
        match &*self.slot.lock() {
            Slot::Open(open) => {
                let (mut loaded, bytes) = guarded(&*self.disk, "read", || load::load(open))?;
                self.counts.rows.store(bytes, Ordering::Relaxed);
                loaded.row_bytes = usize::try_from(bytes / open.meta.rows.max(1)).unwrap_or(usize::MAX);
                Ok(loaded)
            }
            Slot::Full(_) | Slot::Closed => Err(self.closed("read")),
        }
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let mut slot = self.slot.lock();
        let mut result = self.attempt(&mut slot, batch);
        if matches!(result, Err(EngineError::Full { .. })) && batch.frees && self.disk.release() {
            tracing::warn!("the disk is full: the space reserved for deletions is in use");
            self.counts.strained.store(true, Ordering::Relaxed);
            result = self.attempt(&mut slot, batch);
        }
        if batch.quiet && result.is_ok() { self.tidy(&mut slot) } else { result }
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        match &*self.slot.lock() {
            Slot::Open(open) => guarded(&*self.disk, "read", || load::read(open, revisions)),
            Slot::Full(_) | Slot::Closed => Err(self.closed("read")),
        }
    }

    fn check(&self) -> Result<(), EngineError> {
        // The lock prevents writes during the verification.
        let slot = self.slot.lock();
        if matches!(*slot, Slot::Closed) {
            return Err(self.closed("read"));
        }
        let unreadable = |error| cannot("read", &*self.disk, error);
        let backend = self.disk.open().map_err(unreadable)?;
        let header = Header::read(&*backend).map_err(unreadable)?;
        check::pages(&*self.disk, backend, header)
    }

    fn size(&self) -> Size {
        let Counts { rows, file, .. } = &self.counts;
        Size { rows: rows.load(Ordering::Relaxed), file: file.load(Ordering::Relaxed) }
    }

    fn strained(&self) -> bool {
        self.counts.strained.load(Ordering::Relaxed)
    }

    fn name(&self) -> String {
        self.disk.name()
    }

    fn blocking(&self) -> bool {
        true
    }
}
