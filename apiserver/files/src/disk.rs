//! The operations on the disk, so that tests can record them and compute what a power failure leaves.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The operations on the disk that decide what a power failure leaves.
pub trait Disk {
    /// An open file.
    type File: io::Write;

    /// Creates an empty file with these permission bits; fails if the name exists, also as a link.
    ///
    /// # Errors
    /// Those of the file system.
    fn create(&self, path: &Path, mode: u32) -> io::Result<Self::File>;

    /// Opens an existing file, to sync it.
    ///
    /// # Errors
    /// Those of the file system.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Waits until the content of a file is on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync(&self, file: &Self::File) -> io::Result<()>;

    /// Gives a file another name, instead of the file that had it.
    ///
    /// # Errors
    /// Those of the file system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns whether there is a folder.
    fn has_folder(&self, path: &Path) -> bool;

    /// Creates a folder with these permission bits.
    ///
    /// # Errors
    /// Those of the file system.
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()>;

    /// Waits until the names in a folder are on the disk.
    ///
    /// # Errors
    /// Those of the file system.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
}

/// The file systems of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct System;

impl Disk for System {
    type File = File;

    fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        File::open(path)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn has_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        DirBuilder::new().mode(mode).create(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match File::open(path)?.sync_all() {
            // Some network file systems cannot sync a folder, and keep names in another way.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            synced => synced,
        }
    }
}
