//! A backup is put back: beside the data directory, read again, and only then given its name.

use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use store::{Batch, Change, ChangeKind, Embedded, Engine, Revision, Store, Stored};

use super::destination::sync_folder_of;
use super::format::Header;
use super::read::{Reader, Record};
use super::verify::{name, read_to_end, verify_file};
use crate::directory::{DataDirectory, write_private};

/// Revisions that a restored server leaves out: more than were written between the backup and the loss of what it was taken of. A client
/// that has seen one of those revisions is told to read anew (410), instead of going on in a history that is another one now.
pub const REVISION_GAP: u64 = 1_000_000_000;
/// Objects that are written with one sync.
const BATCH_OBJECTS: usize = 2_000;
/// Where a backup from standard input waits until it is known to be whole.
const SPOOL: &str = "backup";
const LOCK: &str = "lock";

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What the backup says of itself.
    pub header: Header,
    /// The revision that the next write follows.
    pub revision: Revision,
    /// Where the directory is now that was there before.
    pub replaced: Option<PathBuf>,
}

/// Makes a data directory of a backup (`-`: from standard input). With `replace`, one that is there is kept under another name.
///
/// # Errors
/// A damaged backup, a directory that is in use or not empty, a disk that refuses. The directory is as it was then.
pub async fn restore(
    directory: &DataDirectory,
    file: &Path,
    replace: bool,
    clock: &Clock,
) -> Result<Restored> {
    if file != Path::new("-") {
        verify_file(file)?;
    }
    let place = Place::of(directory.path(), replace)?;
    let staging = Staging::make(&place.staging)?;
    let failed = || format!("cannot restore {} into {}", name(file), directory.path().display());
    let (header, revision) = if file == Path::new("-") {
        let spooled = spool(&staging.path)?;
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

/// Where a directory is restored to, and what stands there.
struct Place {
    path: PathBuf,
    staging: PathBuf,
    replaced: PathBuf,
    occupied: bool,
    /// A server that starts meanwhile finds the directory in use.
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

    /// Gives the restored directory its name. Killed in between, neither is lost, and the restore can be done again.
    fn take(&self, staging: &Path) -> Result<Option<PathBuf>> {
        let failed = || {
            format!(
                "cannot put the restored directory at {} (it may not be a mount point; choose a directory in it)",
                self.path.display()
            )
        };
        if self.occupied {
            std::fs::rename(&self.path, &self.replaced).with_context(failed)?;
        } else if self.lock.is_some() {
            std::fs::remove_file(self.path.join(LOCK)).with_context(failed)?;
        }
        if let Err(error) = std::fs::rename(staging, &self.path) {
            if self.occupied {
                std::fs::rename(&self.replaced, &self.path).with_context(failed)?;
            }
            return Err(error).with_context(failed);
        }
        sync_folder_of(&self.path).with_context(failed)?;
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

/// A directory in the making; removed unless it is kept.
struct Staging {
    path: PathBuf,
    lock: store::DataDirectory,
    kept: bool,
}

impl Staging {
    /// An empty one; what a restore that was killed left is removed.
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
            // What cannot be removed now is removed by the next restore.
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// Keeps what comes from standard input: a backup is read twice.
fn spool(staging: &Path) -> Result<PathBuf> {
    let path = staging.join(SPOOL);
    let failed = || format!("cannot write {}", path.display());
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
    let mut file = opened.with_context(failed)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).with_context(failed)?;
    Ok(path)
}

/// Writes what a backup holds; all of it is on the disk when this returns.
fn fill(staging: &Staging, file: &Path, clock: &Clock) -> Result<(Header, Revision)> {
    let mut reader = Reader::open(BufReader::with_capacity(1 << 20, File::open(file)?))?;
    let header = reader.header().clone();
    let directory = DataDirectory::locate(Some(&staging.path))?;
    directory.create()?;
    let engine = Embedded::open(&staging.lock)?;
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

/// Opens what was written, as a server will.
async fn check(staging: &Staging, header: &Header, revision: Revision, clock: &Clock) -> Result<()> {
    let lock = staging.lock.clone();
    let store = Store::open(Embedded::open(&lock)?, clock.clone()).await?;
    if (store.object_count(), store.revision()) != (header.objects, revision) {
        bail!("{} does not read back as it was written; check the disk", staging.path.display());
    }
    Ok(())
}
