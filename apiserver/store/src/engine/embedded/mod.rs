//! The default engine: one redb file.
//!
//! Table `changes` holds a row a revision, table `meta` four numbers. After the store was opened only the older part of the history
//! is read from here, so the cache is small. One commit is one redb transaction with one fsync. `quick_repair` is off but for batches that are made
//! because nobody writes: it costs a second fsync, and spares the next start from reading the whole file twice after a crash.

mod load;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};

use super::row::{self, FORMAT};
use super::{Batch, Change, Engine, Loaded, removed_by_trim};
use crate::directory::{DataDirectory, failed, private_file};
use crate::error::EngineError;
use crate::limits::EMBEDDED_CACHE_BYTES;
use crate::revision::Revision;

const FILE: &str = "store.redb";
/// A new file is prepared under this name, so that a crash meanwhile never leaves half a store under the real one.
const NEW_FILE: &str = "store.redb.new";

const CHANGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("changes");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const META_FORMAT: &str = "format";
const META_REVISION: &str = "revision";
const META_COMPACTED: &str = "compacted";
/// The number of rows: a lost page would otherwise be a silently forgotten object.
const META_ROWS: &str = "rows";

/// Opens the place that redb writes to; crash tests put their own in its stead.
pub trait Disk: Send + Sync + 'static {
    /// Opens it. Called again after the disk was full.
    ///
    /// # Errors
    /// Those of the file system.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// What errors call it.
    fn name(&self) -> String;
}

struct FileDisk {
    path: PathBuf,
    _directory: DataDirectory,
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
}

/// What went wrong below redb since the file was opened; redb's own errors do not keep it.
#[derive(Debug, Default)]
struct Trouble {
    full: AtomicBool,
    sync: AtomicBool,
}

/// Stands between redb and the disk and remembers the kind of trouble. It leaves out locking: the data directory is locked.
struct Door {
    inner: Box<dyn StorageBackend>,
    trouble: Arc<Trouble>,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Door {
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

impl StorageBackend for Door {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.watch_space(self.inner.set_len(len))
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

/// An open file and what its `meta` table says.
struct Open {
    database: Database,
    trouble: Arc<Trouble>,
    meta: Meta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meta {
    format: u64,
    revision: Revision,
    compacted: Revision,
    rows: u64,
}

/// The file between two commits.
enum Slot {
    Open(Open),
    /// The disk was too full to open it again; this is what its `meta` table said.
    Full(Meta),
    /// Nobody knows what it holds.
    Closed,
}

/// The embedded engine: durable when a commit returns.
///
/// Invariant: the file is closed before the directory's lock, which `disk` holds, is let go; fields are dropped in their order.
pub struct Embedded {
    slot: Mutex<Slot>,
    disk: Box<dyn Disk>,
}

/// redb writes its free pages down when it closes a file, and may trip over those of a damaged one: what was acknowledged is on disk already,
/// and the next start counts them anew.
impl Drop for Embedded {
    fn drop(&mut self) {
        let slot = std::mem::replace(self.slot.get_mut(), Slot::Closed);
        if catch_unwind(AssertUnwindSafe(|| drop(slot))).is_err() {
            tracing::error!("{} is damaged: its free pages make no sense", self.disk.name());
        }
    }
}

impl Embedded {
    /// Opens the store of a data directory, or creates it.
    ///
    /// # Errors
    /// A file of a newer format or a damaged one is refused and left as it is.
    pub fn open(directory: &DataDirectory) -> Result<Self, EngineError> {
        let path = directory.path().join(FILE);
        if !path.try_exists().map_err(failed("find", &path))? {
            create(directory, &path)?;
        }
        Self::with_disk(FileDisk { path, _directory: directory.clone() })
    }

    /// Opens a store that [`Embedded::format`] prepared.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn with_disk(disk: impl Disk) -> Result<Self, EngineError> {
        let disk: Box<dyn Disk> = Box::new(disk);
        let open = open(&*disk)?;
        Ok(Self { disk, slot: Mutex::new(Slot::Open(open)) })
    }

    /// Prepares an empty store on an empty disk.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn format(disk: &dyn Disk) -> Result<(), EngineError> {
        let backend = disk.open().map_err(|error| cannot("open", disk, error))?;
        let door = Door { inner: backend, trouble: Arc::default() };
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
    // redb would make an empty file a new store; ours are created complete, so one that is empty lost its content.
    if backend.len().map_err(|error| cannot("read", disk, error))? == 0 {
        return Err(damaged(disk, "the file is empty"));
    }
    let trouble = Arc::<Trouble>::default();
    let door = Door { inner: backend, trouble: trouble.clone() };
    let opened = guarded(disk, || {
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

/// Runs `read`, telling damage from a disk that cannot be read. A page that makes no sense may trip redb's own assertions.
fn guarded<T>(disk: &dyn Disk, read: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, EngineError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(redb::Error::Io(error)))
            if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            Err(cannot("read", disk, error))
        }
        Ok(Err(error)) => Err(damaged(disk, error)),
        Err(_) => Err(damaged(disk, "its structure makes no sense")),
    }
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

fn write(open: &Open, batch: &Batch) -> Result<Meta, redb::Error> {
    let mut meta = Meta { format: FORMAT, revision: batch.revision, ..open.meta };
    let mut transaction = open.database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction.set_quick_repair(batch.quiet);
    {
        let mut changes = transaction.open_table(CHANGES)?;
        for change in &batch.changes {
            changes.insert(change.revision.0, row::encode(change).as_slice())?;
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
                meta.rows -= u64::from(changes.remove(revision.0)?.is_some());
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
    Ok(meta)
}

impl Embedded {
    fn closed(&self, step: &'static str) -> EngineError {
        cannot(step, &*self.disk, "it is closed")
    }

    /// Opens the file again after the disk was full: it holds the state before the batch that failed.
    fn open_again(&self, before: Meta) -> Result<Open, EngineError> {
        let again = self::open(&*self.disk)?;
        if again.meta != before {
            return Err(damaged(&*self.disk, "it changed while the disk was full"));
        }
        Ok(again)
    }
}

impl Engine for Embedded {
    fn load(&self) -> Result<Loaded, EngineError> {
        match &*self.slot.lock() {
            Slot::Open(open) => guarded(&*self.disk, || load::load(open)),
            Slot::Full(_) | Slot::Closed => Err(self.closed("read")),
        }
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        let mut slot = self.slot.lock();
        // Where overwriting takes space, too, opening fails until there is some again.
        let mut open = match std::mem::replace(&mut *slot, Slot::Closed) {
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
        let error = match write(&open, batch) {
            Ok(meta) => {
                open.meta = meta;
                *slot = Slot::Open(open);
                return Ok(());
            }
            Err(error) => error,
        };
        let full = open.trouble.full.load(Ordering::Acquire) && !open.trouble.sync.load(Ordering::Acquire);
        // redb takes no more calls after any I/O error. Where no fsync failed, the file is known to hold the state
        // before this batch, so it is opened again; a failed fsync leaves it unknown, and nobody may build on that.
        drop(open);
        if !full {
            return Err(cannot("write", &*self.disk, error));
        }
        match self.open_again(before) {
            Ok(again) => *slot = Slot::Open(again),
            Err(EngineError::Full { .. }) => *slot = Slot::Full(before),
            Err(error) => return Err(error),
        }
        Err(EngineError::Full { file: self.disk.name() })
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        match &*self.slot.lock() {
            Slot::Open(open) => guarded(&*self.disk, || load::read(open, revisions)),
            Slot::Full(_) | Slot::Closed => Err(self.closed("read")),
        }
    }

    fn name(&self) -> String {
        self.disk.name()
    }

    fn blocking(&self) -> bool {
        true
    }
}
