//! Files: written beside their name, synced, renamed, and their folder synced.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result};

use crate::disk::{Disk, System};
use crate::folders::make_folder_on;
use crate::open::is_replaceable;

/// The permission bits of folders that are made for a file.
const FOLDER: u32 = 0o755;
/// The permission bits of folders for a file that only its owner may read.
const PRIVATE_FOLDER: u32 = 0o700;

/// Writes a file with this content and these permission bits, as [`replace`] does.
///
/// # Errors
/// As [`replace`].
pub fn write(path: &Path, mode: u32, content: &[u8]) -> Result<()> {
    replace(path, mode, |file| Ok(file.write_all(content)?))
}

/// Writes a file beside its name with the function `write`, and then gives it the name. Whenever the power fails, there is the old file or the
/// new one, and after this function it is the new one. Folders that are missing are made.
///
/// # Errors
/// Errors of `write` and of the file system, and [`is_replaceable`]; the message names the file. There is the old file then, and nothing beside it.
pub fn replace(path: &Path, mode: u32, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    is_replaceable(path).with_context(|| cannot_write(path))?;
    replace_on(&System, path, mode, write)
}

/// [`replace`] on another disk.
///
/// # Errors
/// As [`replace`].
pub fn replace_on<D: Disk>(
    disk: &D,
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut D::File) -> Result<()>,
) -> Result<()> {
    let cannot = || cannot_write(path);
    make_folder_on(disk, folder_of(path), if mode & 0o077 == 0 { PRIVATE_FOLDER } else { FOLDER })?;
    let beside = beside(path).with_context(cannot)?;
    // What an interrupted process left has its permissions and its links.
    remove_on(disk, &beside).with_context(cannot)?;
    let written = disk.create(&beside, mode).map_err(Error::from).and_then(|mut file| {
        write(&mut file)?;
        file.flush()?;
        disk.sync(&file)?;
        Ok(renamed(disk, &beside, path)?)
    });
    if written.is_err() {
        // The incomplete file occupies the space that may be missing.
        drop(disk.remove(&beside));
    }
    written.with_context(cannot)
}

/// Opens a file to which what arrives is appended, for [`publish`]; it is made if it does not exist.
///
/// # Errors
/// Those of the file system; the message names the file.
pub fn append(path: &Path, mode: u32) -> Result<File> {
    let opened = OpenOptions::new().create(true).append(true).mode(mode).open(path);
    opened.with_context(|| cannot_write(path))
}

/// Gives a complete file its name, after its content is on the disk. When this returns, so is the name.
///
/// # Errors
/// Those of the file system, and [`is_replaceable`]; the message names the file.
pub fn publish(from: &Path, to: &Path) -> Result<()> {
    is_replaceable(to).with_context(|| cannot_write(to))?;
    publish_on(&System, from, to)
}

/// [`publish`] on another disk.
///
/// # Errors
/// As [`publish`].
pub fn publish_on(disk: &impl Disk, from: &Path, to: &Path) -> Result<()> {
    let published = disk.open(from).and_then(|file| disk.sync(&file)).and_then(|()| renamed(disk, from, to));
    published.with_context(|| cannot_write(to))
}

/// Gives a file or folder another name in the same file system, without a look at its content: for what is put aside, or is on the disk
/// already. When this returns, so is the name.
///
/// # Errors
/// Those of the file system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    renamed(&System, from, to)
}

/// Removes a file; does nothing if there is none.
///
/// # Errors
/// Those of the file system.
pub fn remove_on(disk: &impl Disk, path: &Path) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

pub(crate) fn renamed(disk: &impl Disk, from: &Path, to: &Path) -> io::Result<()> {
    disk.rename(from, to)?;
    disk.sync_folder(folder_of(to))?;
    if folder_of(from) != folder_of(to) {
        disk.sync_folder(folder_of(from))?;
    }
    Ok(())
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the name under which a file is written. It is always the same one, so that an interrupted process leaves one file at most.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().ok_or(ErrorKind::InvalidFilename)?.to_owned();
    name.push(".new");
    Ok(path.with_file_name(name))
}
