//! Removes trees that others have made.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use anyhow::{Context, Result};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// The most folders of a tree that are open at the same time. What lies deeper is moved up first, so that neither the stack of this thread nor the
/// files that it may open limit the depth.
const OPEN: usize = 64;
/// The most names of a folder that are in memory at the same time.
const BATCH: usize = 1024;

/// A tree that is being removed.
struct Tree<'a> {
    top: BorrowedFd<'a>,
    /// The number of the next folder that is moved up to the top.
    next: u64,
}

/// Removes `name` from a folder with everything below it. Links are removed and not followed.
///
/// # Errors
/// Something cannot be removed.
pub fn remove(folder: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> Result<()> {
    let name = name.as_ref();
    match type_of(folder, name)? {
        None => Ok(()),
        Some(FileType::Directory) => {
            let top = writable(folder, name)?;
            Tree { top: top.as_fd(), next: 0 }.empty(top.as_fd(), 1)?;
            unlink(folder, name, AtFlags::REMOVEDIR)
        }
        Some(_) => unlink(folder, name, AtFlags::empty()),
    }
}

impl Tree<'_> {
    /// Removes everything in a folder. Each round removes names or moves them to the top, so it ends.
    fn empty(&mut self, folder: BorrowedFd<'_>, open: usize) -> Result<()> {
        loop {
            let names = some(folder, BATCH)?;
            if names.is_empty() {
                return Ok(());
            }
            for name in names {
                if type_of(folder, &name)? != Some(FileType::Directory) {
                    unlink(folder, &name, AtFlags::empty())?;
                    continue;
                }
                let opened = writable(folder, &name)?;
                if open == OPEN {
                    self.move_up(folder, &name)?;
                    continue;
                }
                self.empty(opened.as_fd(), open + 1)?;
                unlink(folder, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }

    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        loop {
            let free = format!("deep-{}", self.next);
            self.next += 1;
            match fs::renameat_with(folder, name, self.top, free, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                moved => return moved.with_context(|| format!("cannot move {}", name.display())),
            }
        }
    }
}

fn unlink(folder: BorrowedFd<'_>, name: &OsStr, flags: AtFlags) -> Result<()> {
    match fs::unlinkat(folder, name, flags) {
        // Whoever writes there may remove it, too.
        Err(Errno::NOENT) => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", name.display())),
    }
}

/// Returns the type of `name` in a folder, without following a link; `None` if it does not exist.
///
/// # Errors
/// The folder cannot be searched.
pub fn type_of(folder: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> Result<Option<FileType>> {
    let name = name.as_ref();
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot look at {}", name.display())),
    }
}

/// Opens a folder, without following a link.
///
/// # Errors
/// It is no folder, or may not be read.
pub fn list(folder: BorrowedFd<'_>, name: impl AsRef<OsStr>) -> Result<OwnedFd> {
    let name = name.as_ref();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(folder, name, flags, Mode::empty())
        .with_context(|| format!("cannot read the folder {}", name.display()))
}

/// Returns the names of everything in a folder.
///
/// # Errors
/// It cannot be read.
pub fn names(folder: BorrowedFd<'_>) -> Result<Vec<OsString>> {
    some(folder, usize::MAX)
}

/// Returns at most this many names of a folder.
fn some(folder: BorrowedFd<'_>, most: usize) -> Result<Vec<OsString>> {
    let name = |entry: Result<fs::DirEntry, Errno>| match entry {
        Ok(entry) => match entry.file_name().to_bytes() {
            b"." | b".." => None,
            name => Some(Ok(OsStr::from_bytes(name).to_owned())),
        },
        Err(error) => Some(Err(error)),
    };
    let opened = list(folder, ".")?;
    let found = fs::Dir::new(opened).and_then(|all| all.filter_map(name).take(most).collect());
    found.context("cannot read a folder")
}

/// Opens a folder that is to be emptied. Its owner may have taken the right to do that from himself.
fn writable(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let cannot = || format!("cannot open the folder {}", name.display());
    let found = fs::openat(folder, name, flags, Mode::empty()).with_context(cannot)?;
    let mode = Mode::from_raw_mode(fs::fstat(&found).with_context(cannot)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        // Not by its name, which may mean something else by now.
        let path = format!("/proc/self/fd/{}", found.as_raw_fd());
        fs::chmod(path, Mode::RWXU).with_context(cannot)?;
    }
    Ok(found)
}
