//! Restores a backup: into a directory beside the data directory, which is checked and only then renamed.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use store::{Batch, Change, ChangeKind, EngineKind, Revision, Store, Stored};

use super::format::Header;
use super::read::{Reader, Record};
use super::verify::{name, opened, read_to_end, verify_file};
use crate::data_directory::{DataDirectory, write_private};

/// The number of revisions that a restored server skips: more than can have been written between the backup and the loss of the
/// original. A client that has seen one of the lost revisions gets 410 and must list again, instead of continuing in a different
/// history.
pub const REVISION_GAP: u64 = 1_000_000_000;
/// The engine of a restored store.
const ENGINE: EngineKind = EngineKind::Embedded;
/// The number of objects that are written with one sync.
const BATCH_OBJECTS: usize = 2_000;
/// The name of the file for a backup that can be read only once, until it is known to be complete.
const SPOOL: &str = "backup";
const LOCK: &str = "lock";

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The header of the backup.
    pub header: Header,
    /// The revision of the restored store; the next write has the revision after it.
    pub revision: Revision,
    /// The path of the previous directory, if there was one.
    pub replaced: Option<PathBuf>,
}

/// Restores a backup (a file or a pipe; `-` is standard input) to a data directory. With `replace`, an existing directory is renamed and kept.
///
/// # Errors
/// The backup is damaged, the directory is in use or not empty, or a write fails. The directory is unchanged then.
pub async fn restore(
    directory: &DataDirectory,
    file: &Path,
    replace: bool,
    clock: &Clock,
) -> Result<Restored> {
    // A backup is read twice: nothing of the directory is touched before all of it is known to be whole.
    let is_stream = file == Path::new("-") || std::fs::metadata(file).is_ok_and(|found| !found.is_file());
    let stream = is_stream.then(|| opened(file)).transpose()?;
    if stream.is_none() {
        verify_file(file)?;
    }
    let place = Place::of(directory.path(), replace)?;
    let staging = Staging::make(&place.staging)?;
    let failed = || format!("cannot restore {} into {}", name(file), directory.path().display());
    let (header, revision) = if let Some(stream) = stream {
        let spooled = spool(&staging.path, stream)?;
        read_to_end(File::open(&spooled).with_context(failed)?, &name(file))?;
        let filled = fill(&staging, &spooled, clock).with_context(failed)?;
        std::fs::remove_file(&spooled).with_context(failed)?;
        filled
    } else {
        fill(&staging, file, clock).with_context(failed)?
    };
    check(&staging, &header, revision, clock).await?;
    let replaced = place.take(&staging.path)?;
    staging.keep();
    Ok(Restored { header, revision, replaced })
}

/// The destination of a restore, and its current state.
struct Place {
    path: PathBuf,
    staging: PathBuf,
    replaced: PathBuf,
    occupied: bool,
    /// The lock of the existing directory, so that a server that is started meanwhile finds it in use.
    lock: Option<store::DataDirectory>,
}

impl Place {
    fn of(path: &Path, replace: bool) -> Result<Self> {
        let called = path.file_name();
        let called =
            called.with_context(|| format!("{} has no name; choose another directory", path.display()))?;
        let beside = |end: &str| {
            let mut name = called.to_owned();
            name.push(end);
            path.with_file_name(name)
        };
        let found = entries(path)?;
        let mut place = Self {
            path: path.to_owned(),
            staging: beside(".restoring"),
            replaced: beside(".replaced"),
            occupied: found.iter().any(|entry| entry != LOCK),
            lock: None,
        };
        if place.occupied {
            ensure!(
                replace,
                "{} is not empty; choose another directory with --data-dir, or say --replace: what is there is then kept as {}",
                path.display(),
                place.replaced.display()
            );
            ensure!(
                !place.replaced.exists(),
                "{} is there from an earlier restore; remove it or move it away first",
                place.replaced.display()
            );
        }
        if !found.is_empty() {
            place.lock = Some(store::DataDirectory::open(path)?);
        }
        Ok(place)
    }

    /// Renames the restored directory to its final name. If the process is killed in between, neither directory is lost, and the
    /// restore can be repeated.
    fn take(&self, staging: &Path) -> Result<Option<PathBuf>> {
        let failed = || {
            format!(
                "cannot put the restored directory at {} (it may not be a mount point; choose a directory in it)",
                self.path.display()
            )
        };
        if self.occupied {
            files::rename(&self.path, &self.replaced).with_context(failed)?;
        } else if self.lock.is_some() {
            std::fs::remove_file(self.path.join(LOCK)).with_context(failed)?;
        }
        if let Err(error) = files::rename(staging, &self.path) {
            if self.occupied {
                files::rename(&self.replaced, &self.path).with_context(failed)?;
            }
            return Err(error).with_context(failed);
        }
        Ok(self.occupied.then(|| self.replaced.clone()))
    }
}

fn entries(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    match std::fs::read_dir(path) {
        Ok(listed) => Ok(listed.flatten().map(|entry| entry.file_name()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A temporary directory, which is removed on drop unless it is kept.
struct Staging {
    path: PathBuf,
    lock: store::DataDirectory,
    kept: bool,
}

impl Staging {
    /// Creates an empty temporary directory, and removes the remains of a killed restore.
    fn make(path: &Path) -> Result<Self> {
        let lock = store::DataDirectory::open(path)?;
        for entry in entries(path)? {
            if entry == LOCK {
                continue;
            }
            let entry = path.join(entry);
            let removed =
                if entry.is_dir() { std::fs::remove_dir_all(&entry) } else { std::fs::remove_file(&entry) };
            removed.with_context(|| format!("cannot remove {}", entry.display()))?;
        }
        Ok(Self { path: path.to_owned(), lock, kept: false })
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails, the next restore removes the directory.
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// Stores a backup that can be read only once in a file.
fn spool(staging: &Path, mut source: impl Read) -> Result<PathBuf> {
    let path = staging.join(SPOOL);
    let failed = || format!("cannot write {}", path.display());
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let mut file = opened.with_context(failed)?;
    std::io::copy(&mut source, &mut file).with_context(failed)?;
    Ok(path)
}

/// Writes the content of a backup; everything is synced when this returns.
fn fill(staging: &Staging, file: &Path, clock: &Clock) -> Result<(Header, Revision)> {
    let mut reader = Reader::open(BufReader::with_capacity(1 << 20, File::open(file)?))?;
    let header = reader.header().clone();
    let directory = DataDirectory::locate(Some(&staging.path))?;
    directory.create()?;
    let engine = ENGINE.open(&staging.lock)?;
    let time = clock.now().timestamp();
    let mut changes = Vec::new();
    while let Some(record) = reader.next()? {
        match record {
            Record::File(name, content) => write_private(&staging.path.join(name), &content)?,
            Record::Object(object) => changes.push(change(object, time)),
        }
        if changes.len() == BATCH_OBJECTS {
            let changes = std::mem::take(&mut changes);
            engine.commit(&Batch { changes, revision: Revision(header.revision), ..Batch::default() })?;
        }
    }
    let revision = Revision(header.revision.saturating_add(REVISION_GAP));
    engine.commit(&Batch { changes, revision, trim: Some(revision), ..Batch::default() })?;
    for folder in [&directory.pki(), &staging.path] {
        File::open(folder)?.sync_all()?;
    }
    Ok((header, revision))
}

fn change(object: Stored, time: i64) -> Change {
    Change {
        revision: object.mod_revision,
        kind: ChangeKind::Put,
        key: object.key,
        value: object.value,
        create_revision: object.create_revision,
        previous: Revision::NONE,
        time,
    }
}

/// Opens the restored store as a server would, and checks its object count and revision.
async fn check(staging: &Staging, header: &Header, revision: Revision, clock: &Clock) -> Result<()> {
    let lock = staging.lock.clone();
    let store = Store::open_engine(ENGINE.open(&lock)?, clock.clone(), ENGINE.limits()).await?;
    if (store.object_count(), store.revision()) != (header.objects, revision) {
        bail!("{} does not read back as it was written; check the disk", staging.path.display());
    }
    Ok(())
}
