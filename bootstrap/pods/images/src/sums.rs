//! A sum of everything in the filesystem of an image, so that a damaged one is found before it is used.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bundle::Digest;
use pod_folders::{list, names};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The folder of the sums in the folder of images: a file for each image.
const FOLDER: &str = "sums";

/// The sum of a filesystem: of the names, types, permissions, owners and contents of everything in it. Damage is not an attack, so contents are
/// represented by their CRC-32, which takes far less time than a digest.
pub(crate) struct Sums(Digest);

impl Sums {
    /// Computes the sum of the filesystem in a folder.
    pub(crate) fn of(root: &Path) -> Result<Self> {
        let mut text = String::new();
        let cannot = || format!("cannot read {}", root.display());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = fs::open(root, flags, Mode::empty()).with_context(cannot)?;
        folder(opened, "", &mut text).with_context(cannot)?;
        Ok(Self(Digest::of(text.as_bytes())))
    }

    /// Returns whether this is the sum that was kept of an image. If none was kept, this one is: it is kept before the filesystem has its name,
    /// so an earlier version unpacked the image.
    pub(crate) fn is_kept(&self, store: &Path, id: &Digest) -> Result<bool> {
        match std::fs::read(path(store, id)) {
            Ok(kept) => Ok(kept == self.text().as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.keep(store, id).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Keeps the sum of an image.
    pub(crate) fn keep(&self, store: &Path, id: &Digest) -> Result<()> {
        files::write(&path(store, id), 0o600, self.text().as_bytes())
    }

    fn text(&self) -> String {
        format!("{}\n", self.0)
    }
}

fn path(store: &Path, id: &Digest) -> PathBuf {
    store.join(FOLDER).join(id.hex())
}

/// Adds a line for everything in a folder, sorted by names.
fn folder(opened: OwnedFd, path: &str, text: &mut String) -> Result<()> {
    let mut names = names(opened.as_fd())?;
    names.sort_unstable();
    for name in names {
        let below = format!("{path}/{name:?}");
        let found = fs::statat(&opened, &name, AtFlags::SYMLINK_NOFOLLOW).with_context(|| below.clone())?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let content = match kind {
            FileType::RegularFile => sum(opened.as_fd(), &name).with_context(|| below.clone())?,
            FileType::Symlink => {
                let target = fs::readlinkat(&opened, &name, Vec::new()).with_context(|| below.clone())?;
                format!("{target:?}")
            }
            FileType::CharacterDevice | FileType::BlockDevice => found.st_rdev.to_string(),
            _ => String::new(),
        };
        let (mode, user, group) = (found.st_mode, found.st_uid, found.st_gid);
        text.push_str(&format!("{below} {mode:o} {user} {group} {content}\n"));
        if kind == FileType::Directory {
            folder(list(opened.as_fd(), &name)?, &below, text)?;
        }
    }
    Ok(())
}

/// Returns the length and the CRC-32 of a file.
fn sum(folder: BorrowedFd<'_>, name: &OsStr) -> Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        // Without root, nobody reads what its owner may not read.
        Err(Errno::ACCESS) => return Ok(String::new()),
        Err(error) => return Err(error.into()),
    };
    let (mut hasher, mut buffer, mut length) = (crc32fast::Hasher::new(), vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{length} {:08x}", hasher.finalize())),
            Ok(count) => {
                hasher.update(buffer.get(..count).unwrap_or_default());
                length += count;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
