//! A file system in memory that records all operations, and computes what a power failure leaves of it.
//!
//! As POSIX has it: the content of a file is on the disk after its own sync, and a name after the sync of its folder. Anything else may be lost,
//! each independent of the other: a name without its content, also.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::files::Disk;
use machinery::random::Random;
use parking_lot::Mutex;

use crate::disk::Cut;

/// An operation on the file system. Files are known by their numbers, because their names change.
#[derive(Clone, Debug)]
enum Operation {
    Create { path: PathBuf, file: usize },
    Write { file: usize, data: Vec<u8> },
    Sync { file: usize },
    Rename { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
    MakeFolder { path: PathBuf },
    SyncFolder { path: PathBuf },
}

/// Names and contents at one moment.
#[derive(Clone, Debug, Default)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
}

#[derive(Default)]
struct Content {
    log: Vec<Operation>,
    now: Names,
    /// The number of files that were ever created.
    created: usize,
}

/// A file system in memory, whose root folder exists. Clones share the content.
#[derive(Clone, Default)]
pub struct FileSystem(Arc<Mutex<Content>>);

/// An open file of a [`FileSystem`], to whose end is written.
pub struct OpenFile {
    system: FileSystem,
    file: usize,
}

impl FileSystem {
    /// Returns the number of operations so far.
    pub fn operations(&self) -> usize {
        self.0.lock().log.len()
    }

    /// Returns all files after a power failure before operation number `moment`.
    pub fn after(&self, moment: usize, cut: Cut, random: &Random) -> BTreeMap<PathBuf, Vec<u8>> {
        let content = self.0.lock();
        let log = &content.log[..moment];
        let names = names(log, cut, random);
        let files = names.files.iter().filter(|(path, _)| {
            path.ancestors().skip(1).all(|folder| folder == Path::new("/") || names.folders.contains(folder))
        });
        files.map(|(path, file)| (path.clone(), content_of(log, *file, cut, random))).collect()
    }

    fn add(&self, operation: Operation) -> io::Result<()> {
        let mut content = self.0.lock();
        content.now.apply(&operation)?;
        content.log.push(operation);
        Ok(())
    }
}

impl Names {
    fn apply(&mut self, operation: &Operation) -> io::Result<()> {
        match operation {
            Operation::Create { path, file } => {
                if self.files.contains_key(path) || self.folders.contains(path) {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                self.files.insert(path.clone(), *file);
            }
            Operation::Rename { from, to } => {
                let file = self.files.remove(from).ok_or(ErrorKind::NotFound)?;
                self.files.insert(to.clone(), file);
            }
            Operation::Remove { path } => {
                self.files.remove(path).ok_or(ErrorKind::NotFound)?;
            }
            Operation::MakeFolder { path } => {
                self.folders.insert(path.clone());
            }
            Operation::Write { .. } | Operation::Sync { .. } | Operation::SyncFolder { .. } => {}
        }
        Ok(())
    }
}

/// Returns the folder whose content an operation changes.
fn folder_of(operation: &Operation) -> Option<&Path> {
    match operation {
        Operation::Create { path, .. } | Operation::Remove { path } | Operation::MakeFolder { path } => {
            path.parent()
        }
        Operation::Rename { to, .. } => to.parent(),
        _ => None,
    }
}

/// Returns the names that are left: in each folder those before its last sync, and of the later ones the first few.
fn names(log: &[Operation], cut: Cut, random: &Random) -> Names {
    let folders: BTreeSet<&Path> = log.iter().filter_map(folder_of).collect();
    let mut kept = BTreeMap::new();
    for folder in folders {
        let synced =
            |operation: &Operation| matches!(operation, Operation::SyncFolder { path } if path == folder);
        let durable = log.iter().rposition(synced).unwrap_or(0);
        let later = log.len() - durable;
        let more = match cut {
            Cut::Lost => 0,
            Cut::Written | Cut::Torn => later,
            Cut::Scattered => usize::try_from(random.number() % (later as u64 + 1)).unwrap(),
        };
        kept.insert(folder, durable + more);
    }
    let mut names = Names::default();
    for (number, operation) in log.iter().enumerate() {
        if folder_of(operation).is_some_and(|folder| number < kept[folder]) {
            names.apply(operation).unwrap();
        }
    }
    names
}

/// Returns what is left of a file: everything before its last sync, and of the later writes nothing, everything, a part, or zeros in their place.
fn content_of(log: &[Operation], file: usize, cut: Cut, random: &Random) -> Vec<u8> {
    let is_sync =
        |operation: &Operation| matches!(operation, Operation::Sync { file: synced } if *synced == file);
    let durable = log.iter().rposition(is_sync).unwrap_or(0);
    let mut content = Vec::new();
    for (number, operation) in log.iter().enumerate() {
        let Operation::Write { file: written, data } = operation else { continue };
        if *written != file {
            continue;
        }
        let part = usize::try_from(random.number() % data.len().max(1) as u64).unwrap();
        match cut {
            _ if number < durable => content.extend(data),
            Cut::Lost => {}
            Cut::Written => content.extend(data),
            Cut::Torn => content.extend(&data[..part]),
            Cut::Scattered if random.number().is_multiple_of(2) => content.extend(vec![0; data.len()]),
            Cut::Scattered => content.extend(&data[..part]),
        }
    }
    content
}

impl Write for OpenFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.system.add(Operation::Write { file: self.file, data: data.to_vec() })?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for FileSystem {
    type File = OpenFile;

    fn create(&self, path: &Path, _mode: u32) -> io::Result<OpenFile> {
        let file = {
            let mut content = self.0.lock();
            content.created += 1;
            content.created
        };
        self.add(Operation::Create { path: path.to_owned(), file })?;
        Ok(OpenFile { system: self.clone(), file })
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let file = *self.0.lock().now.files.get(path).ok_or(ErrorKind::NotFound)?;
        Ok(OpenFile { system: self.clone(), file })
    }

    fn sync(&self, file: &OpenFile) -> io::Result<()> {
        self.add(Operation::Sync { file: file.file })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.add(Operation::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.add(Operation::Remove { path: path.to_owned() })
    }

    fn has_folder(&self, path: &Path) -> bool {
        path == Path::new("/") || self.0.lock().now.folders.contains(path)
    }

    fn make_folder(&self, path: &Path, _mode: u32) -> io::Result<()> {
        self.add(Operation::MakeFolder { path: path.to_owned() })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.add(Operation::SyncFolder { path: path.to_owned() })
    }
}
