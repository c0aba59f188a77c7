//! The files of the image while it is made. No link in them leads to a file of this machine.

use std::fs::{self as disk, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use container_images::{Root, unpack_tree};
use flate2::read::MultiGzDecoder;
use pod_folders::remove;
use rustix::fs::{self, AtFlags, Mode, OFlags};

/// A folder with the files of a system.
pub(super) struct Tree {
    path: PathBuf,
    root: Root,
}

impl Tree {
    /// Unpacks the archive of a system to a new folder.
    pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<Self> {
        let text = archive.display();
        disk::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        disk::set_permissions(folder, disk::Permissions::from_mode(0o755))?;
        let mut content = decompressed(archive).with_context(|| format!("cannot read {text}"))?;
        unpack_tree(&mut content, folder)
            .with_context(|| format!("{text} is no archive of a system that can be used"))?;
        Self::open(folder)
    }

    fn open(folder: &Path) -> Result<Self> {
        Ok(Self { path: folder.to_owned(), root: Root::open(folder)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether there is a program at this path.
    pub(super) fn has(&self, path: &str) -> Result<bool> {
        let Some(file) = self.root.file(path)? else { return Ok(false) };
        Ok(file.metadata()?.permissions().mode() & 0o111 != 0)
    }

    /// Returns the names in a folder; none if it does not exist.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let Some(opened) = self.root.folder(folder)? else { return Ok(Vec::new()) };
        let listed = pod_folders::list(opened.as_fd(), ".")?;
        let names = pod_folders::names(listed.as_fd())?;
        let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Writes a file instead of what is there.
    pub(super) fn write(&self, path: &str, mode: u32, mut content: impl Read) -> Result<()> {
        self.replace(path, |parent, name| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(fs::openat(parent, name, flags, Mode::from_raw_mode(mode))?);
            io::copy(&mut content, &mut file)?;
            file.flush()?;
            Ok(fs::fchmod(&file, Mode::from_raw_mode(mode))?)
        })
    }

    /// Makes a symbolic link instead of what is there.
    pub(super) fn link(&self, path: &str, target: &str) -> Result<()> {
        self.replace(path, |parent, name| Ok(fs::symlinkat(target, parent, name)?))
    }

    /// Gives the file `existing` a second name instead of what is there.
    pub(super) fn second_name(&self, path: &str, existing: &str) -> Result<()> {
        let (folder, last) = self.place(existing)?;
        self.replace(path, |parent, name| Ok(fs::linkat(&folder, &*last, parent, name, AtFlags::empty())?))
    }

    /// Makes a folder, unless there is one.
    pub(super) fn folder(&self, path: &str, mode: u32) -> Result<()> {
        let (parent, name) = self.place(path)?;
        match fs::mkdirat(&parent, &*name, Mode::from_raw_mode(mode)) {
            Ok(()) => fs::chmodat(&parent, &*name, Mode::from_raw_mode(mode), AtFlags::empty())?,
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {path} of the image")),
        }
        Ok(())
    }

    /// Removes what is there.
    pub(super) fn remove(&self, path: &str) -> Result<()> {
        let (parent, name) = self.place(path)?;
        remove(parent.as_fd(), &*name)
    }

    fn replace(&self, path: &str, make: impl FnOnce(&OwnedFd, &str) -> Result<()>) -> Result<()> {
        let (parent, name) = self.place(path)?;
        let made = remove(parent.as_fd(), &*name).and_then(|()| make(&parent, &name));
        made.with_context(|| format!("cannot write {path} of the image"))
    }

    /// Returns the folder of a path, which is made, and the last name.
    fn place(&self, path: &str) -> Result<(OwnedFd, String)> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let name = parts.last().context("the path is empty")?;
        Ok((self.root.parent(&parts)?, (*name).to_owned()))
    }
}

/// Opens an archive that may be compressed.
fn decompressed(path: &Path) -> Result<Box<dyn Read>> {
    let mut file = files::open(path)?;
    let mut magic = Vec::new();
    (&file).take(4).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(io::BufReader::new(file))),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::new(file)?),
        [0xfd, b'7', ..] | [b'B', b'Z', ..] => bail!("it is compressed with xz or bzip2: use gzip or zstd"),
        _ => Box::new(io::BufReader::new(file)),
    })
}
