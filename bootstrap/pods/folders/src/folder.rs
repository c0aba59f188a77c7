//! A folder in which no link is followed.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A folder whose content others may change at any time.
#[derive(Debug)]
pub struct Folder(OwnedFd);

const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens an existing folder. `path` must be one that only this program changes; its last part may be no link.
    ///
    /// # Errors
    /// It is no folder.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = fs::open(path, FOLDER, Mode::empty());
        Ok(Self(folder.with_context(|| format!("cannot open {}", path.display()))?))
    }

    /// Opens `name` in this folder, and makes it if it does not exist.
    ///
    /// # Errors
    /// It is no folder, or cannot be made.
    pub fn make(&self, name: &str, mode: u32) -> Result<Self> {
        Ok(Self(self.find_or_make(name, mode)?))
    }

    /// Opens what `path` names: a file of any type, or a folder.
    ///
    /// # Errors
    /// It does not exist, or a part of the path is a link.
    pub fn find(&self, path: &str) -> Result<OwnedFd> {
        self.look(path, OFlags::PATH).map_err(|errno| refused(path, errno))
    }

    /// The same, and makes folders where the path does not exist yet.
    ///
    /// # Errors
    /// As [`Self::find`], or a folder cannot be made.
    pub fn find_or_make(&self, path: &str, mode: u32) -> Result<OwnedFd> {
        let path = path.trim_end_matches('/');
        match self.look(path, OFlags::PATH) {
            Err(Errno::NOENT) => {}
            found => return found.map_err(|errno| refused(path, errno)),
        }
        let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
        let parent = self.find_or_make(above, mode)?;
        match fs::mkdirat(&parent, name, Mode::from_raw_mode(mode)) {
            Err(Errno::EXIST) => {}
            made => {
                made.with_context(|| format!("cannot make the folder {path}"))?;
                // Without what the umask of this process takes away.
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                fs::openat(&parent, name, flags, Mode::empty())
                    .and_then(|folder| fs::fchmod(folder, Mode::from_raw_mode(mode)))
                    .with_context(|| format!("cannot set the mode of the folder {path}"))?;
            }
        }
        self.find(path)
    }

    /// Creates a file, which must not exist. Folders above it are made.
    ///
    /// # Errors
    /// It exists, a part of its path is a link, or it cannot be made.
    pub fn create(&self, path: &str, mode: u32) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
        let parent = self.find_or_make(above, 0o755)?;
        let file = fs::openat(&parent, name, flags, Mode::from_raw_mode(mode));
        Ok(File::from(file.with_context(|| format!("cannot make the file {path}"))?))
    }

    /// Returns the content of a file; `None` if there is no file of at most `most` bytes at this path.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, path: &str, most: usize) -> Result<Option<Vec<u8>>> {
        // A pipe would be waited for.
        let Ok(file) = self.look(path, OFlags::RDONLY | OFlags::NONBLOCK) else { return Ok(None) };
        let cannot = || format!("cannot read {path}");
        let file = File::from(file);
        let found = file.metadata().with_context(cannot)?;
        let most = u64::try_from(most)?;
        if !found.is_file() || found.len() > most {
            return Ok(None);
        }
        let mut content = Vec::new();
        file.take(most).read_to_end(&mut content).with_context(cannot)?;
        Ok(Some(content))
    }

    fn look(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { "." } else { path };
        fs::openat2(&self.0, path, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH)
    }
}

impl From<OwnedFd> for Folder {
    fn from(folder: OwnedFd) -> Self {
        Self(folder)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn refused(path: &str, errno: Errno) -> anyhow::Error {
    let why = match errno {
        Errno::LOOP => "a part of it is a symbolic link, and links are not followed there",
        Errno::XDEV => "it leads out of its folder",
        _ => return anyhow::Error::new(errno).context(format!("cannot open {path}")),
    };
    anyhow!("cannot open {path}: {why}")
}
