//! Folders: made with their parents, and published whole.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result};

use crate::disk::{Disk, System};
use crate::replace::{folder_of, renamed};

/// Creates a folder with its parents, all with the permission bits `mode`, unless they exist. The new names are on the disk when this returns.
///
/// # Errors
/// Those of the file system; the message names the folder.
pub fn make_folder(path: &Path, mode: u32) -> Result<()> {
    make_folder_on(&System, path, mode)
}

/// [`make_folder`] on another disk.
///
/// # Errors
/// As [`make_folder`].
pub fn make_folder_on(disk: &impl Disk, path: &Path, mode: u32) -> Result<()> {
    make(disk, path, mode).with_context(|| format!("cannot make the folder {}", path.display()))
}

fn make(disk: &impl Disk, path: &Path, mode: u32) -> io::Result<()> {
    if path.as_os_str().is_empty() || disk.has_folder(path) {
        return Ok(());
    }
    let parent = folder_of(path);
    make(disk, parent, mode)?;
    match disk.make_folder(path, mode) {
        // Another thread or process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && disk.has_folder(path) => {}
        made => made?,
    }
    disk.sync_folder(parent)
}

/// Gives a complete folder its name, after everything in it is on the disk. There must be nothing with this name.
///
/// # Errors
/// Those of the file system; the message names the folder.
pub fn publish_folder(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot make {}", to.display());
    let opened = File::open(from).with_context(cannot)?;
    // A sync of each file and folder would take far longer for the thousands of an image.
    rustix::fs::syncfs(&opened).with_context(cannot)?;
    renamed(&System, from, to).with_context(cannot)
}
