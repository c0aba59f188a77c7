//! The root folder of an image while it is filled. All paths are resolved by the kernel as if this folder were `/` (`openat2` with
//! `RESOLVE_IN_ROOT`), so no `..` and no link leads out of it, whatever the layers contain.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The root folder of an image.
pub struct Root {
    folder: OwnedFd,
}

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

    /// Returns the content of a small file; `None` if it does not exist.
    ///
    /// # Errors
    /// It is larger than `most`, no file, or cannot be read.
    pub fn small(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat2(&self.folder, path, flags, Mode::empty(), WITHIN) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {path} of the image")),
        };
        let found = file.metadata().with_context(|| format!("cannot read {path} of the image"))?;
        ensure!(
            found.is_file() && found.len() <= most,
            "{path} of the image is no file of at most {most} bytes"
        );
        let mut content = Vec::new();
        file.take(most)
            .read_to_end(&mut content)
            .with_context(|| format!("cannot read {path} of the image"))?;
        Ok(Some(content))
    }

    /// Opens the folder that contains `path`, and makes it with its parents if it does not exist.
    ///
    /// # Errors
    /// A parent is no folder, or cannot be made.
    pub(crate) fn parent(&self, path: &[&str]) -> Result<OwnedFd> {
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
    pub(crate) fn existing(&self, path: &str) -> Result<OwnedFd, Errno> {
        fs::openat2(
            &self.folder,
            path,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            WITHIN,
        )
    }
}

/// Returns the type of `name` in a folder, without following a link; `None` if it does not exist.
pub(crate) fn type_of(folder: BorrowedFd<'_>, name: &str) -> Result<Option<FileType>> {
    match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot look at {name}")),
    }
}

/// Removes `name` from a folder with everything below it. Links are removed and not followed.
pub(crate) fn remove(folder: BorrowedFd<'_>, name: &str) -> Result<()> {
    match type_of(folder, name)? {
        None => Ok(()),
        Some(FileType::Directory) => {
            let opened = list(folder, name)?;
            for child in names(opened.as_fd())? {
                remove(opened.as_fd(), &child)?;
            }
            fs::unlinkat(folder, name, AtFlags::REMOVEDIR).with_context(|| format!("cannot remove {name}"))
        }
        Some(_) => {
            fs::unlinkat(folder, name, AtFlags::empty()).with_context(|| format!("cannot remove {name}"))
        }
    }
}

/// Opens a folder for [`names`], without following a link.
pub(crate) fn list(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(folder, name, flags, Mode::empty()).with_context(|| format!("cannot read the folder {name}"))
}

/// Returns the names of everything in a folder.
pub(crate) fn names(folder: BorrowedFd<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::Dir::read_from(folder).context("cannot read a folder")? {
        let name = entry.context("cannot read a folder")?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}
