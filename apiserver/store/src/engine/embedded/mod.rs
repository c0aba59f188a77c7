//! The default engine, which is one redb file.
//!
//! Table `changes` has one row for each revision, and table `meta` four numbers. After the store is open, only the
//! older part of the history is read from the file, so the cache is small. One commit is one redb transaction with one
//! fsync. `quick_repair` is only on for batches without changes that are made when nobody writes: it costs a second
//! fsync, but saves reading the whole file twice at the first start after a crash.

mod check;
mod door;
mod load;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

pub use door::Disk;

use self::check::Header;
use self::door::{Door, FileDisk, Trouble};
use super::row::{self, FORMAT};
use super::{Batch, Change, Engine, Loaded, Size, removed_by_trim};
use crate::directory::{DataDirectory, failed, private_file};
use crate::error::EngineError;
use crate::limits::{COMPACT_FACTOR, COMPACT_FROM_BYTES, EMBEDDED_CACHE_BYTES};
use crate::revision::Revision;

const FILE: &str = "store.redb";
/// A new file is prepared under this name, so that a crash never leaves an incomplete store under the real name.
const NEW_FILE: &str = "store.redb.new";

const CHANGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("changes");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const META_FORMAT: &str = "format";
const META_REVISION: &str = "revision";
const META_COMPACTED: &str = "compacted";
/// The number of rows. Without it, a lost page would mean a silently lost object.
const META_ROWS: &str = "rows";

/// An open file and the content of its `meta` table.
struct Open {
    database: Database,
    trouble: Arc<Trouble>,
    meta: Meta,
}

/// Numbers that persist between batches and can be read during a batch.
#[derive(Default)]
struct Counts {
    /// Size of all rows in bytes, according to [`room`].
    rows: AtomicU64,
    file: AtomicU64,
    /// Whether the space that was reserved for deletions is in use.
    strained: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meta {
    format: u64,
    revision: Revision,
    compacted: Revision,
    rows: u64,
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
        tracing::error!("{} is damaged: its free pages make no sense", disk.name());
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
        let path = directory.path().join(FILE);
        if !path.try_exists().map_err(failed("find", &path))? {
            create(directory, &path)?;
        }
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
        let open = match open(&*disk) {
            // The repair after a crash needs space.
            Err(EngineError::Full { .. }) if disk.release() => {
                counts.strained.store(true, Ordering::Relaxed);
                open(&*disk)?
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
        let backend = disk.open().map_err(|error| cannot("open", disk, error))?;
        let door = Door::new(backend, Arc::default());
        let database = builder().create_with_backend(door).map_err(|error| cannot("create", disk, error))?;
        let prepare = || -> Result<(), redb::Error> {
            let transaction = database.begin_write()?;
            transaction.open_table(CHANGES)?;
            {
                let mut meta = transaction.open_table(META)?;
                meta.insert(META_FORMAT, FORMAT)?;
                for number in [META_REVISION, META_COMPACTED, META_ROWS] {
                    meta.insert(number, 0)?;
                }
            }
            Ok(transaction.commit()?)
        };
        prepare().map_err(|error| cannot("create", disk, error))
    }
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(EMBEDDED_CACHE_BYTES);
    builder
}

fn cannot(step: &'static str, disk: &dyn Disk, error: impl fmt::Display) -> EngineError {
    EngineError::Failed { step, file: disk.name(), reason: error.to_string() }
}

fn damaged(disk: &dyn Disk, reason: impl fmt::Display) -> EngineError {
    EngineError::Damaged { file: disk.name(), reason: reason.to_string() }
}

fn create(directory: &DataDirectory, path: &Path) -> Result<(), EngineError> {
    let new = directory.path().join(NEW_FILE);
    let file = private_file().create(true).truncate(true).open(&new).map_err(failed("create", &new))?;
    Embedded::format(&FileDisk { path: new.clone(), _directory: directory.clone() })?;
    file.sync_all().map_err(failed("sync", &new))?;
    std::fs::rename(&new, path).map_err(failed("rename", &new))?;
    let parent = File::open(directory.path()).map_err(failed("open", directory.path()))?;
    parent.sync_all().map_err(failed("sync", directory.path()))
}

fn open(disk: &dyn Disk) -> Result<Open, EngineError> {
    let backend = disk.open().map_err(|error| cannot("open", disk, error))?;
    // redb would create a new store in an empty file. Store files are never empty, so an empty one lost its content.
    if backend.len().map_err(|error| cannot("read", disk, error))? == 0 {
        return Err(damaged(disk, "the file is empty"));
    }
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(disk, "it was cut off"),
        _ => cannot("read", disk, error),
    };
    let header = Header::read(&*backend).map_err(unreadable)?;
    header.check().map_err(|reason| damaged(disk, reason))?;
    if header.is_two_phase() {
        let again = disk.open().map_err(|error| cannot("open", disk, error))?;
        check::pages(disk, again, header)?;
    }
    let trouble = Arc::<Trouble>::default();
    let door = Door::new(backend, trouble.clone());
    let opened = guarded(disk, "read", || {
        let database = builder().create_with_backend(door)?;
        let meta = read_meta(&database)?;
        Ok((database, meta))
    });
    let (database, meta) = match opened {
        Err(_) if trouble.full.load(Ordering::Acquire) => {
            return Err(EngineError::Full { file: disk.name() });
        }
        opened => opened?,
    };
    if meta.format > FORMAT {
        return Err(EngineError::Newer { file: disk.name(), found: meta.format, supported: FORMAT });
    }
    Ok(Open { database, trouble, meta })
}

/// Runs `work` and distinguishes damage from a disk that cannot do `step`. Damaged pages may cause panics in redb.
fn guarded<T>(
    disk: &dyn Disk,
    step: &'static str,
    work: impl FnOnce() -> Result<T, redb::Error>,
) -> Result<T, EngineError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(redb::Error::Io(error)))
            if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            Err(cannot(step, disk, error))
        }
        Ok(Err(error @ redb::Error::PreviousIo)) => Err(cannot(step, disk, error)),
        Ok(Err(error)) => Err(damaged(disk, error)),
        Err(_) => Err(damaged(disk, "its structure makes no sense")),
    }
}

/// Returns the size of a row in the file in bytes. A long row has its own pages, in a power of two.
fn room(row: usize) -> u64 {
    let entry = row as u64 + 16;
    if entry <= 1024 { entry * 4 / 3 } else { (entry + 32).next_power_of_two().max(4096) }
}

fn read_meta(database: &Database) -> Result<Meta, redb::Error> {
    let meta = database.begin_read()?.open_table(META)?;
    let number = |name: &str| match meta.get(name)? {
        Some(number) => Ok(number.value()),
        None => Err(redb::Error::Corrupted(format!("{name} is missing"))),
    };
    Ok(Meta {
        format: number(META_FORMAT)?,
        revision: Revision(number(META_REVISION)?),
        compacted: Revision(number(META_COMPACTED)?),
        rows: number(META_ROWS)?,
    })
}

/// Writes a batch. Returns the new numbers, the added and the freed size.
fn write(open: &Open, batch: &Batch) -> Result<(Meta, u64, u64), redb::Error> {
    let (mut taken, mut given) = (0, 0);
    let mut meta = Meta { format: FORMAT, revision: batch.revision, ..open.meta };
    let mut transaction = open.database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction.set_quick_repair(batch.quiet);
    {
        let mut changes = transaction.open_table(CHANGES)?;
        for change in &batch.changes {
            let row = row::encode(change);
            taken += room(row.len());
            changes.insert(change.revision.0, row.as_slice())?;
        }
        meta.rows += batch.changes.len() as u64;
        if let Some(trim) = batch.trim.filter(|trim| *trim > meta.compacted) {
            let mut dropped = Vec::new();
            for entry in changes.range(meta.compacted.0 + 1..=trim.0)? {
                let (revision, row) = entry?;
                let revision = Revision(revision.value());
                let (kind, previous) =
                    row::decode_links(revision, row.value()).map_err(redb::Error::Corrupted)?;
                dropped.push((revision, kind, previous));
            }
            for revision in removed_by_trim(dropped.into_iter()) {
                if let Some(row) = changes.remove(revision.0)? {
                    given += room(row.value().len());
                    meta.rows -= 1;
                }
            }
            meta.compacted = trim;
        }
        let mut numbers = transaction.open_table(META)?;
        if open.meta.format != meta.format {
            numbers.insert(META_FORMAT, meta.format)?;
        }
        numbers.insert(META_REVISION, meta.revision.0)?;
        numbers.insert(META_COMPACTED, meta.compacted.0)?;
        numbers.insert(META_ROWS, meta.rows)?;
    }
    transaction.commit()?;
    Ok((meta, taken, given))
}

impl Embedded {
    fn closed(&self, step: &'static str) -> EngineError {
        cannot(step, &*self.disk, "it is closed")
    }

    /// Opens the file again after the disk was full. It must have the state before the failed batch.
    fn open_again(&self, before: Meta) -> Result<Open, EngineError> {
        let again = self::open(&*self.disk)?;
        if again.meta != before {
            return Err(damaged(&*self.disk, "it changed while the disk was full"));
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
            tracing::warn!("the disk is full: what was set aside for deletions is in use");
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
