//! The engine of the feature `sled`.
//!
//! sled 0.34 reports a write as flushed after `sync_file_range`, which reaches neither the drive's cache nor the file's
//! metadata, so a power loss loses it. Therefore each commit ends with an `fdatasync` of sled's file through a separate
//! descriptor.
//!
//! After a full disk this engine stops, as after any other error, because sled does not tell what it wrote.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::row::{self, FORMAT};
use super::{Batch, Engine, Loaded, Size, removed_by_trim};
use crate::change::Change;
use crate::directory::{DataDirectory, failed};
use crate::error::EngineError;
use crate::revision::Revision;

pub(super) const DIRECTORY: &str = "store.sled";
/// A new store is prepared under this name, so that a crash never leaves an incomplete store under the real name.
const NEW_DIRECTORY: &str = "store.sled.new";
/// The file in sled's directory that contains its data.
const DATA_FILE: &str = "db";
const CACHE_BYTES: u64 = 8 << 20;

/// The first byte of row keys, before the revision in big-endian order. The keys of the store's numbers begin with `m`.
const ROW: u8 = b'c';
const META_FORMAT: &[u8] = b"m/format";
const META_REVISION: &[u8] = b"m/revision";
const META_COMPACTED: &[u8] = b"m/compacted";
const META_ROWS: &[u8] = b"m/rows";

/// The sled engine, which is durable when a commit returns.
pub struct Sled {
    path: PathBuf,
    database: ::sled::Db,
    data: File,
    meta: Mutex<Meta>,
    _directory: DataDirectory,
}

#[derive(Clone, Copy)]
struct Meta {
    format: u64,
    revision: Revision,
    compacted: Revision,
    rows: u64,
}

impl Sled {
    /// Opens the store of a data directory, or creates it.
    ///
    /// # Errors
    /// A damaged store or one with a newer format is refused.
    pub fn open(directory: &DataDirectory) -> Result<Self, EngineError> {
        let path = directory.path().join(DIRECTORY);
        if !path.try_exists().map_err(failed("find", &path))? {
            create(directory, &path)?;
        }
        let database = open(&path)?;
        let meta = read_meta(&path, &database)?;
        if meta.format > FORMAT {
            let file = path.display().to_string();
            return Err(EngineError::Newer { file, found: meta.format, supported: FORMAT });
        }
        let data_path = path.join(DATA_FILE);
        let data = File::open(&data_path).map_err(failed("open", &data_path))?;
        Ok(Self { path, database, data, meta: Mutex::new(meta), _directory: directory.clone() })
    }

    fn write(&self, batch: &Batch, mut meta: Meta) -> Result<Meta, EngineError> {
        let mut writes = ::sled::Batch::default();
        for change in &batch.changes {
            writes.insert(&row_key(change.revision), row::encode(change));
        }
        meta.format = FORMAT;
        meta.revision = batch.revision;
        meta.rows += batch.changes.len() as u64;
        if let Some(trim) = batch.trim.filter(|trim| *trim > meta.compacted) {
            for revision in self.removed(meta.compacted, trim, batch)? {
                writes.remove(&row_key(revision));
                meta.rows -= 1;
            }
            meta.compacted = trim;
        }
        put_meta(&mut writes, meta);
        let failed = |error: ::sled::Error| unusable("write", &self.path, error);
        self.database.apply_batch(writes).map_err(failed)?;
        self.database.flush().map_err(failed)?;
        self.data.sync_data().map_err(crate::directory::failed("sync", &self.path))?;
        Ok(meta)
    }

    fn removed(
        &self,
        compacted: Revision,
        trim: Revision,
        batch: &Batch,
    ) -> Result<Vec<Revision>, EngineError> {
        let mut dropped = Vec::new();
        for entry in self.database.range(row_key(compacted.next())..=row_key(trim)) {
            let (key, bytes) = entry.map_err(|error| unusable("read", &self.path, error))?;
            let revision = row_revision(&key).ok_or_else(|| damaged(&self.path, "a row has no revision"))?;
            let (kind, previous) =
                row::decode_links(revision, &bytes).map_err(|reason| damaged(&self.path, reason))?;
            dropped.push((revision, kind, previous));
        }
        // Rows of this batch are not in the tree yet.
        let new = batch.changes.iter().take_while(|change| change.revision <= trim);
        dropped.extend(new.map(|change| (change.revision, change.kind, change.previous)));
        Ok(removed_by_trim(dropped.into_iter()).collect())
    }
}

fn open(path: &Path) -> Result<::sled::Db, EngineError> {
    wait_for_lock(&path.join(DATA_FILE))?;
    let config = ::sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    config.open().map_err(|error| unusable("open", path, error))
}

/// Waits until nobody has locked the file, because sled fails otherwise. The lock of the data directory is ours, so that only a store that
/// was closed just now has it: in a thread of sled, or in a program that this process starts and that has a copy of the descriptor until
/// it runs.
fn wait_for_lock(path: &Path) -> Result<(), EngineError> {
    let Ok(file) = File::open(path) else { return Ok(()) };
    file.lock().and_then(|()| file.unlock()).map_err(failed("lock", path))
}

fn create(directory: &DataDirectory, path: &Path) -> Result<(), EngineError> {
    let new = directory.path().join(NEW_DIRECTORY);
    match std::fs::remove_dir_all(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &new)(error)),
        _ => {}
    }
    let database = open(&new)?;
    let mut writes = ::sled::Batch::default();
    put_meta(
        &mut writes,
        Meta { format: FORMAT, revision: Revision::NONE, compacted: Revision::NONE, rows: 0 },
    );
    database.apply_batch(writes).map_err(|error| unusable("create", &new, error))?;
    database.flush().map_err(|error| unusable("create", &new, error))?;
    drop(database);
    for entry in new.read_dir().map_err(failed("read", &new))? {
        let entry = entry.map_err(failed("read", &new))?.path();
        File::open(&entry).and_then(|file| file.sync_all()).map_err(failed("sync", &entry))?;
    }
    sync_directory(&new)?;
    std::fs::rename(&new, path).map_err(failed("rename", &new))?;
    sync_directory(directory.path())
}

fn sync_directory(path: &Path) -> Result<(), EngineError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(failed("sync", path))
}

fn put_meta(writes: &mut ::sled::Batch, meta: Meta) {
    let numbers = [
        (META_FORMAT, meta.format),
        (META_REVISION, meta.revision.0),
        (META_COMPACTED, meta.compacted.0),
        (META_ROWS, meta.rows),
    ];
    for (name, number) in numbers {
        writes.insert(name, &number.to_be_bytes());
    }
}

fn read_meta(path: &Path, database: &::sled::Db) -> Result<Meta, EngineError> {
    let number = |name: &[u8]| {
        let bytes = database.get(name).map_err(|error| unusable("read", path, error))?;
        let bytes = bytes.and_then(|bytes| <[u8; 8]>::try_from(&*bytes).ok());
        let missing = || damaged(path, format!("{} is missing", String::from_utf8_lossy(name)));
        bytes.map(u64::from_be_bytes).ok_or_else(missing)
    };
    Ok(Meta {
        format: number(META_FORMAT)?,
        revision: Revision(number(META_REVISION)?),
        compacted: Revision(number(META_COMPACTED)?),
        rows: number(META_ROWS)?,
    })
}

fn row_key(revision: Revision) -> [u8; 9] {
    let mut key = [ROW; 9];
    key[1..].copy_from_slice(&revision.0.to_be_bytes());
    key
}

fn row_revision(key: &[u8]) -> Option<Revision> {
    let number: [u8; 8] = key.strip_prefix(&[ROW])?.try_into().ok()?;
    Some(Revision(u64::from_be_bytes(number)))
}

fn damaged(path: &Path, reason: impl Into<String>) -> EngineError {
    EngineError::Damaged { file: path.display().to_string(), reason: reason.into() }
}

fn unusable(step: &'static str, path: &Path, error: ::sled::Error) -> EngineError {
    match error {
        ::sled::Error::Corruption { .. } => damaged(path, error.to_string()),
        error => EngineError::Failed { step, file: path.display().to_string(), reason: error.to_string() },
    }
}

impl Engine for Sled {
    fn load(&self) -> Result<Loaded, EngineError> {
        let Meta { format, revision, compacted, rows } = *self.meta.lock();
        let mut changes = Vec::new();
        for entry in self.database.scan_prefix([ROW]) {
            let (key, bytes) = entry.map_err(|error| unusable("read", &self.path, error))?;
            let revision = row_revision(&key).ok_or_else(|| damaged(&self.path, "a row has no revision"))?;
            changes.push(row::decode(revision, &bytes).map_err(|reason| damaged(&self.path, reason))?);
        }
        if changes.len() as u64 != rows {
            return Err(damaged(&self.path, format!("found {} of {rows} rows", changes.len())));
        }
        Ok(Loaded { revision, compacted, changes, format, row_bytes: 0 })
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        if batch.quiet {
            return Ok(());
        }
        let mut meta = self.meta.lock();
        *meta = self.write(batch, *meta)?;
        Ok(())
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        let row = |revision: &Revision| {
            let bytes = self.database.get(row_key(*revision));
            let bytes = bytes.map_err(|error| unusable("read", &self.path, error)).transpose()?;
            let decoded = |bytes: ::sled::IVec| {
                row::decode(*revision, &bytes).map_err(|reason| damaged(&self.path, reason))
            };
            Some(bytes.and_then(decoded))
        };
        revisions.iter().filter_map(row).collect()
    }

    fn size(&self) -> Size {
        // If the size cannot be read, the next commit will report the error.
        let file = self.database.size_on_disk().unwrap_or_default();
        Size { rows: file, file }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn blocking(&self) -> bool {
        true
    }
}
