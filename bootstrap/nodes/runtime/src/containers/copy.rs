//! The copy of a folder of an image, with everything that a file system knows of it.

use std::collections::HashMap;
use std::fs::{self, File, FileTimes};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pod_folders::Root;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, lgetxattr, llistxattr, lsetxattr, mknodat};
use rustix::io::Errno;

/// The longest list of names and the longest value of extended attributes (xattr(7)).
const LONGEST: usize = 64 << 10;

/// What has been copied under several names.
type Links = HashMap<(u64, u64), PathBuf>;

/// Copies a folder of an image to a new folder. If the image has none, the new one is empty.
///
/// # Errors
/// Something cannot be read or written.
pub(super) fn volume(image: &Root, path: &str, to: &Path) -> Result<()> {
    fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
    // As the container sees it: a link in the image leads to another place in it.
    let Some(source) = image.folder(path)? else { return Ok(()) };
    let from = PathBuf::from(format!("/proc/self/fd/{}", source.as_raw_fd()));
    content(&from, to, &mut Links::new())?;
    like(&fs::metadata(&from)?, &from, to)
}

fn content(from: &Path, to: &Path, links: &mut Links) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let name = entry?.file_name();
        let (source, target) = (from.join(&name), to.join(&name));
        one(&source, &target, links)
            .with_context(|| format!("cannot copy {} to {}", name.display(), target.display()))?;
    }
    Ok(())
}

fn one(source: &Path, target: &Path, links: &mut Links) -> Result<()> {
    let found = fs::symlink_metadata(source)?;
    let kind = found.file_type();
    if kind.is_dir() {
        fs::create_dir(target)?;
        content(source, target, links)?;
        return like(&found, source, target);
    }
    if found.nlink() > 1 {
        if let Some(first) = links.get(&(found.dev(), found.ino())) {
            return Ok(fs::hard_link(first, target)?);
        }
        links.insert((found.dev(), found.ino()), target.to_owned());
    }
    if kind.is_symlink() {
        symlink(fs::read_link(source)?, target)?;
        lchown(target, Some(found.uid()), Some(found.gid()))?;
        return attributes(source, target);
    }
    if kind.is_file() {
        // The kernel copies it, or shares its blocks.
        fs::copy(source, target)?;
    } else {
        let node = match () {
            () if kind.is_char_device() => FileType::CharacterDevice,
            () if kind.is_block_device() => FileType::BlockDevice,
            () if kind.is_fifo() => FileType::Fifo,
            // A socket means nothing without its process.
            () => return Ok(()),
        };
        mknodat(CWD, target, node, Mode::from_raw_mode(found.mode() & 0o7777), found.rdev())?;
    }
    like(&found, source, target)
}

/// Gives a file or folder the owner, the mode, the attributes and the times of another one.
fn like(found: &fs::Metadata, source: &Path, target: &Path) -> Result<()> {
    lchown(target, Some(found.uid()), Some(found.gid()))?;
    fs::set_permissions(target, fs::Permissions::from_mode(found.mode() & 0o7777))?;
    attributes(source, target)?;
    if found.is_file() || found.is_dir() {
        let times = FileTimes::new().set_modified(found.modified()?).set_accessed(found.accessed()?);
        File::open(target)?.set_times(times)?;
    }
    Ok(())
}

fn attributes(source: &Path, target: &Path) -> Result<()> {
    let mut names = vec![0; LONGEST];
    let length = match llistxattr(source, &mut names) {
        Err(Errno::NOTSUP | Errno::PERM) => return Ok(()),
        length => length?,
    };
    let mut value = vec![0; if length == 0 { 0 } else { LONGEST }];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let found = lgetxattr(source, name, &mut value)?;
        lsetxattr(target, name, &value[..found], XattrFlags::empty())?;
    }
    Ok(())
}
