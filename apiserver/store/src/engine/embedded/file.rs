//! Creation and opening of the redb file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::backend::{Backend, Disk, FileDisk, Trouble};
use super::check::{self, Header};
use super::damage::{cannot, damaged, guarded};
use super::tables::{
    CHANGES, META, META_COMPACTED, META_FORMAT, META_REVISION, META_ROWS, Open, builder, read_meta,
};
use crate::directory::{DataDirectory, failed, private_file};
use crate::engine::row::FORMAT;
use crate::error::EngineError;

/// The name of the store in a data directory.
pub(in crate::engine) const FILE: &str = "store.redb";
/// A new file is prepared under this name, so that a crash never leaves an incomplete store under the real name.
const NEW_FILE: &str = "store.redb.new";

/// Returns the path of the store in a data directory. Creates the store if it does not exist.
pub(super) fn find_or_create(directory: &DataDirectory) -> Result<PathBuf, EngineError> {
    let path = directory.path().join(FILE);
    if !path.try_exists().map_err(failed("find", &path))? {
        create(directory, &path)?;
    }
    Ok(path)
}

fn create(directory: &DataDirectory, path: &Path) -> Result<(), EngineError> {
    let new = directory.path().join(NEW_FILE);
    let file = private_file().create(true).truncate(true).open(&new).map_err(failed("create", &new))?;
    format(&FileDisk { path: new.clone(), _directory: directory.clone() })?;
    file.sync_all().map_err(failed("sync", &new))?;
    std::fs::rename(&new, path).map_err(failed("rename", &new))?;
    let parent = File::open(directory.path()).map_err(failed("open", directory.path()))?;
    parent.sync_all().map_err(failed("sync", directory.path()))
}

/// Creates an empty store on an empty disk.
pub(super) fn format(disk: &dyn Disk) -> Result<(), EngineError> {
    let backend = disk.open().map_err(|error| cannot("open", disk, error))?;
    let backend = Backend::new(backend, Arc::default());
    let database = builder().create_with_backend(backend).map_err(|error| cannot("create", disk, error))?;
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

pub(super) fn open(disk: &dyn Disk) -> Result<Open, EngineError> {
    let backend = disk.open().map_err(|error| cannot("open", disk, error))?;
    // redb would create a new store in an empty file. Store files are never empty, so an empty one lost its content.
    if backend.len().map_err(|error| cannot("read", disk, error))? == 0 {
        return Err(damaged(disk, "the file is empty"));
    }
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(disk, "the file is truncated"),
        _ => cannot("read", disk, error),
    };
    let header = Header::read(&*backend).map_err(unreadable)?;
    header.check().map_err(|reason| damaged(disk, reason))?;
    if header.is_two_phase() {
        let again = disk.open().map_err(|error| cannot("open", disk, error))?;
        check::pages(disk, again, header)?;
    }
    let trouble = Arc::<Trouble>::default();
    let backend = Backend::new(backend, trouble.clone());
    let opened = guarded(disk, "read", || {
        let database = builder().create_with_backend(backend)?;
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
