//! Files that somebody has named.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file that somebody has named, to read it. Others than regular files could keep the reader waiting for ever, or never end.
///
/// # Errors
/// It cannot be opened, or it is a folder, a named pipe, a socket or a device.
pub fn open(path: &Path) -> Result<File> {
    // A named pipe that nobody writes to would be open only once somebody does.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    let found = match () {
        () if kind.is_file() => return Ok(file),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a named pipe",
        () => "a device",
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {found} and no regular file")))
}
