//! Files that somebody has named.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The number of links that are followed, as by the kernel.
const LINKS: usize = 40;

/// Opens a file that somebody has named, to read it. Others than regular files could keep the reader waiting for ever, or never end.
///
/// # Errors
/// It cannot be opened, or it is a folder, a named pipe, a socket or a device.
pub fn open(path: &Path) -> Result<File> {
    // A named pipe that nobody writes to would be open only once somebody does.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    is_regular(&file.metadata()?)?;
    Ok(file)
}

/// Fails unless a new file may take the name `path`: because there is nothing yet, or a regular file. A rename would remove a device such as
/// `/dev/null` from the machine, and nobody would read what was meant for a pipe.
///
/// # Errors
/// It is a folder, a named pipe, a socket or a device, or a link to one.
pub fn is_replaceable(path: &Path) -> Result<()> {
    std::fs::metadata(path).map_or(Ok(()), |metadata| is_regular(&metadata))
}

/// Returns the path of the file that a link leads to, which may not exist yet; a path that is no link comes back as it is. Whoever names a link
/// as the file to write wants to keep the link, and [`crate::replace`] gives its new file the very name that it gets. A folder of this
/// process is written without it: somebody else may have put the link there.
///
/// # Errors
/// The links lead to each other.
pub fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = std::fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    Err(Error::other(format!("{} is a link that leads to itself", path.display())))
}

fn is_regular(metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    let found = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {found} and no regular file")))
}
