//! The root folder of an image or of a container. All paths are resolved by the kernel as if this folder were `/` (`openat2` with
//! `RESOLVE_IN_ROOT`), so no `..` and no link leads out of it, whatever is in it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::{self, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The root folder of an image or of a container.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
}

/// What [`Root::place`] makes where nothing is yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A folder.
    Folder,
    /// An empty file.
    File,
}

/// The most links to something that does not exist yet that one path leads through.
const LINKS: usize = 8;

const WITHIN: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_MAGICLINKS);
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Root {
    /// Opens an existing folder.
    ///
    /// # Errors
    /// It is no folder.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = fs::open(path, FOLDER, Mode::empty());
        Ok(Self { folder: folder.with_context(|| format!("cannot open {}", path.display()))? })
    }

    /// Opens a file for reading; `None` if it does not exist or is no file.
    ///
    /// # Errors
    /// It may not be read.
    pub fn file(&self, path: &str) -> Result<Option<File>> {
        // A pipe would be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let cannot = || format!("cannot read {path} of the image");
        let file = match fs::openat2(&self.folder, path, flags, Mode::empty(), WITHIN) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error).with_context(cannot),
        };
        Ok(file.metadata().with_context(cannot)?.is_file().then_some(file))
    }

    /// Opens a folder; `None` if it does not exist or is no folder.
    ///
    /// # Errors
    /// It may not be searched.
    pub fn folder(&self, path: &str) -> Result<Option<OwnedFd>> {
        match fs::openat2(&self.folder, path, FOLDER, Mode::empty(), WITHIN) {
            Ok(folder) => Ok(Some(folder)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot open {path} of the image")),
        }
    }

    /// Returns the content of a small file; `None` if it does not exist or is no file.
    ///
    /// # Errors
    /// It is larger than `most`, or cannot be read.
    pub fn small(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.file(path)? else { return Ok(None) };
        let mut content = Vec::new();
        file.take(most + 1)
            .read_to_end(&mut content)
            .with_context(|| format!("cannot read {path} of the image"))?;
        ensure!(content.len() as u64 <= most, "{path} of the image has more than {most} bytes");
        Ok(Some(content))
    }

    /// Opens what `path` names, so that something can be mounted on it, and makes it with its parents if it does not exist. A link may lead to
    /// something that does not exist yet, as `/var/run` to `/run`.
    ///
    /// # Errors
    /// A parent is no folder, or it cannot be made.
    pub fn place(&self, path: &str, missing: Missing) -> Result<OwnedFd> {
        self.place_through(path, missing, LINKS)
            .with_context(|| format!("the path {path} of the container cannot be used"))
    }

    fn place_through(&self, path: &str, missing: Missing, links: usize) -> Result<OwnedFd> {
        let path = path.trim_end_matches('/');
        let open = || {
            let path = if path.is_empty() { "." } else { path };
            fs::openat2(&self.folder, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), WITHIN)
        };
        match open() {
            Err(Errno::NOENT) => {}
            found => return Ok(found?),
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.place_through(above, Missing::Folder, links)?;
        let made = match missing {
            Missing::Folder => fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)),
            Missing::File => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                fs::openat(&parent, name, flags, Mode::from_raw_mode(0o644)).map(drop)
            }
        };
        if made != Err(Errno::EXIST) {
            made.with_context(|| format!("{path} cannot be made"))?;
            return Ok(open()?);
        }
        // It leads to something that does not exist, or somebody else has made it since.
        let Ok(target) = fs::readlinkat(&parent, name, Vec::new()) else { return Ok(open()?) };
        ensure!(links > 0, "too many links lead to something that does not exist");
        let target = target.to_str().context("a link leads to a path that is not UTF-8")?;
        let next = if target.starts_with('/') { target.to_owned() } else { format!("{above}/{target}") };
        self.place_through(&next, missing, links - 1)
    }

    /// Opens the folder that contains `path`, and makes it with its parents if it does not exist.
    ///
    /// # Errors
    /// A parent is no folder, or cannot be made.
    pub fn parent(&self, path: &[&str]) -> Result<OwnedFd> {
        let (_, parents) = path.split_last().context("the path is empty")?;
        let Some((last, above)) = parents.split_last() else { return Ok(self.folder.try_clone()?) };
        let text = parents.join("/");
        match fs::openat2(&self.folder, &*text, FOLDER, Mode::empty(), WITHIN) {
            Ok(folder) => Ok(folder),
            Err(Errno::NOENT) => {
                let above: Vec<&str> = above.iter().copied().chain([*last]).collect();
                let parent = self.parent(&above)?;
                match fs::mkdirat(&parent, *last, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => {
                        return Err(error).with_context(|| format!("cannot make the folder {text}"));
                    }
                }
                fs::openat2(&self.folder, &*text, FOLDER, Mode::empty(), WITHIN)
                    .with_context(|| format!("{text} is no folder of the image"))
            }
            Err(error) => Err(error).with_context(|| format!("{text} is no folder of the image")),
        }
    }

    /// Opens what `path` names, without following a link in its last part.
    ///
    /// # Errors
    /// It does not exist.
    pub fn existing(&self, path: &str) -> Result<OwnedFd, Errno> {
        fs::openat2(
            &self.folder,
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            WITHIN,
        )
    }
}

impl From<OwnedFd> for Root {
    fn from(folder: OwnedFd) -> Self {
        Self { folder }
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}
