//! Applies the archive of one layer to a root folder, by the rules of the OCI image specification: entries replace what lower layers have,
//! and whiteouts remove it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use pod_folders::{Root, list, names, remove, type_of};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use tar::{Archive, EntryType, Header};

use crate::attributes::{Facts, set, set_time};
use crate::extension::Extension;
use crate::limits;
use crate::store::Contents;

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// Applies layers to a root folder.
pub(crate) struct Layers<'a> {
    root: &'a Root,
    contents: Contents,
    entries: usize,
    /// The times of folders, which every file that is made in them changes.
    times: BTreeMap<String, i64>,
}

impl<'a> Layers<'a> {
    pub(crate) fn new(root: &'a Root, contents: Contents) -> Self {
        Self { root, contents, entries: 0, times: BTreeMap::new() }
    }

    /// Completes the folder after the last layer.
    ///
    /// # Errors
    /// A folder cannot be changed.
    pub(crate) fn finish(self) -> Result<()> {
        for (path, time) in &self.times {
            let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
            let Some(parent) = self.root.folder(above)? else { continue };
            if type_of(parent.as_fd(), name)? == Some(FileType::Directory) {
                set_time(&parent, name, *time).with_context(|| path.clone())?;
            }
        }
        Ok(())
    }

    /// Applies the uncompressed archive of the next layer.
    ///
    /// # Errors
    /// An entry is damaged, its path or link leads out of the image, or it cannot be written. The message names the entry.
    pub(crate) fn apply(&mut self, layer: &mut dyn Read) -> Result<()> {
        let mut archive = Archive::new(layer);
        let mut extension = Extension::default();
        let mut made = BTreeSet::new();
        for entry in archive.entries().context("it is no tar archive")?.raw(true) {
            let mut entry = entry.context("it is damaged or cut off")?;
            self.entries += 1;
            ensure!(self.entries <= limits::ENTRIES, "the image has more than {} entries", limits::ENTRIES);
            let header = entry.header().clone();
            let path = extension.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
            let name = String::from_utf8_lossy(&path).into_owned();
            if extension.read(&header, &mut entry).with_context(|| name.clone())? {
                continue;
            }
            let told = std::mem::take(&mut extension);
            self.entry(&header, &path, told, &mut entry, &mut made).with_context(|| name.clone())?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        header: &Header,
        path: &[u8],
        told: Extension,
        content: &mut dyn Read,
        made: &mut BTreeSet<String>,
    ) -> Result<()> {
        let parts = parts(path)?;
        let Some((name, parents)) = parts.split_last() else { return Ok(()) };
        let parent = self.root.parent(&parts)?;
        if *name == OPAQUE {
            return clear(&parent, &parents.join("/"), made);
        }
        if let Some(hidden) = name.strip_prefix(WHITEOUT) {
            ensure!(!hidden.is_empty() && hidden != "." && hidden != "..", "the whiteout names nothing");
            return remove(parent.as_fd(), hidden);
        }
        self.write(header, &parent, name, &told, content)?;
        let path = parts.join("/");
        if header.entry_type() == EntryType::Directory && self.contents == Contents::System {
            self.times.insert(
                path.clone(),
                header.mtime().ok().and_then(|time| i64::try_from(time).ok()).unwrap_or_default(),
            );
        }
        made.insert(path);
        Ok(())
    }

    fn write(
        &self,
        header: &Header,
        parent: &OwnedFd,
        name: &str,
        told: &Extension,
        content: &mut dyn Read,
    ) -> Result<()> {
        let kind = header.entry_type();
        let is_folder = kind == EntryType::Directory;
        let stays = is_folder && type_of(parent.as_fd(), name)? == Some(FileType::Directory);
        if !stays {
            remove(parent.as_fd(), name)?;
        }
        let link = || {
            let link = told.link.clone().or_else(|| header.link_name_bytes().map(|link| link.into_owned()));
            link.context("the link has no target")
        };
        match kind {
            EntryType::Directory if stays => {}
            // The files in it are added before it gets its mode.
            EntryType::Directory => fs::mkdirat(parent, name, Mode::RWXU).context("cannot be made")?,
            EntryType::Regular | EntryType::Continuous => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR);
                let mut file = File::from(file.context("cannot be made")?);
                io::copy(content, &mut file).context("cannot be written")?;
            }
            EntryType::Symlink => fs::symlinkat(link()?, parent, name).context("the link cannot be made")?,
            EntryType::Link => return self.hard_link(parent, name, &link()?),
            EntryType::Char | EntryType::Block | EntryType::Fifo => {
                // Those of a Pod are made by the shim, if at all.
                if self.contents == Contents::Processes {
                    return Ok(());
                }
                device(header, parent, name)?;
            }
            other => bail!("entries of type {other:?} are not supported"),
        }
        set(&Facts { header, told, contents: self.contents }, parent, name)
    }

    fn hard_link(&self, parent: &OwnedFd, name: &str, target: &[u8]) -> Result<()> {
        let parts = parts(target).context("its target leads out of the image")?;
        let (last, _) = parts.split_last().context("the link has no target")?;
        let text = parts.join("/");
        self.root.existing(&text).with_context(|| format!("its target {text} does not exist"))?;
        let folder = self.root.parent(&parts)?;
        ensure!(type_of(folder.as_fd(), last)? != Some(FileType::Directory), "its target {text} is a folder");
        fs::linkat(&folder, *last, parent, name, AtFlags::empty()).context("the link cannot be made")
    }
}

/// Unpacks the archive of a whole system to an empty folder, with everything that [`Contents::System`] keeps.
///
/// # Errors
/// As of a layer: an entry is damaged, its path or link leads out of the folder, or it cannot be written. The message names the entry.
pub fn unpack_tree(archive: &mut dyn Read, folder: &Path) -> Result<()> {
    let root = Root::open(folder)?;
    let mut layers = Layers::new(&root, Contents::System);
    layers.apply(archive)?;
    layers.finish()
}

/// Makes a device or a pipe.
fn device(header: &Header, parent: &OwnedFd, name: &str) -> Result<()> {
    let number = |number: io::Result<Option<u32>>| number.ok().flatten().unwrap_or_default();
    let device = fs::makedev(number(header.device_major()), number(header.device_minor()));
    let kind = match header.entry_type() {
        EntryType::Char => FileType::CharacterDevice,
        EntryType::Block => FileType::BlockDevice,
        _ => FileType::Fifo,
    };
    fs::mknodat(parent, name, kind, Mode::RUSR | Mode::WUSR, device)
        .context("the device cannot be made: only root with CAP_MKNOD can do that")
}

/// Removes everything in a folder that this layer did not make.
fn clear(folder: &OwnedFd, path: &str, made: &BTreeSet<String>) -> Result<()> {
    let opened = list(folder.as_fd(), ".")?;
    for name in names(opened.as_fd())? {
        let child = name.to_string_lossy();
        let own = if path.is_empty() { child.into_owned() } else { format!("{path}/{child}") };
        let below = format!("{own}/");
        let is_made = made.contains(&own)
            || made.range(below.clone()..).next().is_some_and(|first| first.starts_with(&below));
        if !is_made {
            remove(opened.as_fd(), &name)?;
        }
    }
    Ok(())
}

/// Returns the parts of a path within the image.
fn parts(path: &[u8]) -> Result<Vec<&str>> {
    let path = std::str::from_utf8(path).context("the path is not UTF-8")?;
    ensure!(path.len() <= limits::PATH, "the path is longer than {} bytes", limits::PATH);
    ensure!(!path.starts_with('/'), "the path is absolute");
    ensure!(!path.contains('\0'), "the path contains a zero byte");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    ensure!(!parts.contains(&".."), "the path leads out of the image");
    ensure!(parts.len() <= limits::PATH_DEPTH, "the path has more than {} parts", limits::PATH_DEPTH);
    Ok(parts)
}
