//! The console of a container: a terminal of which this side is written to a file, with a limit.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcsetattr};

use crate::limits;

/// The most bytes that are read at once.
const PIECE: usize = 16 << 10;

/// A console.
pub(super) struct Console {
    /// The side of the supervisor.
    terminal: File,
    /// The side of the container. It stays open here, too: otherwise the terminal would end whenever nobody in the container has it open.
    _other: OwnedFd,
    /// The path of that side on the machine.
    pub(super) path: PathBuf,
    log: Log,
}

impl Console {
    /// Makes a console whose output goes to the file `log`.
    pub(super) fn open(log: &Path) -> Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let cannot = "cannot make a terminal: is /dev/pts mounted, and are there too many (kernel.pty.max)?";
        let terminal = openpt(flags).context(cannot)?;
        grantpt(&terminal).context(cannot)?;
        unlockpt(&terminal).context(cannot)?;
        let name = ptsname(&terminal, Vec::new()).context(cannot)?;
        let path = PathBuf::from(OsStr::from_bytes(name.as_bytes()));
        let other = open(&path)?;
        // The log has the lines as they were written.
        let mut modes = tcgetattr(&other).context(cannot)?;
        modes.output_modes.remove(OutputModes::OPOST);
        tcsetattr(&other, OptionalActions::Now, &modes).context(cannot)?;
        rustix::fs::fcntl_setfl(&terminal, OFlags::NONBLOCK).context(cannot)?;
        Ok(Self { terminal: File::from(terminal), _other: other, path, log: Log::open(log)? })
    }

    /// Writes everything to the log that is there.
    pub(super) fn copy(&mut self) {
        let mut piece = [0; PIECE];
        while let Ok(length @ 1..) = self.terminal.read(&mut piece) {
            self.log.write(&piece[..length]);
        }
    }
}

impl AsFd for Console {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }
}

/// Opens a terminal without making it that of this session.
pub(super) fn open(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .with_context(|| format!("cannot open the terminal {}", path.display()))
}

/// A file with a limit: once it is half of that, it becomes the one before, whose content is lost.
struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        let length = file.metadata().map_or(0, |found| found.len());
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// Writes what it can: a full disk does not end a container.
    fn write(&mut self, piece: &[u8]) {
        self.length += self.file.write_all(piece).map_or(0, |()| piece.len() as u64);
        if self.length >= limits::CONSOLE / 2 {
            files::rename(&self.path, &before(&self.path)).ok();
            if let Ok(next) = Self::open(&self.path) {
                *self = next;
            }
        }
    }
}

/// Returns the path of the file before a log.
pub(crate) fn before(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}
