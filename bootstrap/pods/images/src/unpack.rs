//! Applies the archive of one layer to a root folder, by the rules of the OCI image specification: entries replace what lower layers have,
//! and whiteouts remove it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result, bail, ensure};
use pod_folders::{Root, list, names, remove, type_of};
use rustix::fs::{self, AtFlags, FileType, Gid, Mode, OFlags, Uid};
use tar::{Archive, EntryType, Header, PaxExtensions};

use crate::limits;

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// Applies layers to a root folder.
pub(crate) struct Layers<'a> {
    root: &'a Root,
    /// Whether the files get the owners that the layers name, which only root can do.
    owners: bool,
    entries: usize,
}

/// What the entries before a header say about it.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl<'a> Layers<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self { root, owners: rustix::process::geteuid().is_root(), entries: 0 }
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
            let link = std::mem::take(&mut extension).link;
            let link = link.or_else(|| header.link_name_bytes().map(|link| link.into_owned()));
            self.entry(&header, &path, link, &mut entry, &mut made).with_context(|| name.clone())?;
        }
        Ok(())
    }

    fn entry(
        &self,
        header: &Header,
        path: &[u8],
        link: Option<Vec<u8>>,
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
        self.write(header, &parent, name, link, content)?;
        made.insert(parts.join("/"));
        Ok(())
    }

    fn write(
        &self,
        header: &Header,
        parent: &OwnedFd,
        name: &str,
        link: Option<Vec<u8>>,
        content: &mut dyn Read,
    ) -> Result<()> {
        let kind = header.entry_type();
        let is_folder = kind == EntryType::Directory;
        let stays = is_folder && type_of(parent.as_fd(), name)? == Some(FileType::Directory);
        if !stays {
            remove(parent.as_fd(), name)?;
        }
        // Set-user-ID programs are not honoured (no_new_privs), so their bits are left out.
        let mode = Mode::from_raw_mode(header.mode().context("the mode is no number")? & 0o1777);
        match kind {
            EntryType::Directory => {
                // A folder must stay writable for its owner, who adds the files in it.
                let mode = mode | Mode::RWXU;
                if !stays {
                    fs::mkdirat(parent, name, mode).context("cannot be made")?;
                }
                fs::chmodat(parent, name, mode, AtFlags::empty()).context("its mode cannot be set")?;
            }
            EntryType::Regular | EntryType::Continuous => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = fs::openat(parent, name, flags, mode).context("cannot be made")?;
                let mut file = File::from(file);
                io::copy(content, &mut file).context("cannot be written")?;
                fs::fchmod(&file, mode).context("its mode cannot be set")?;
            }
            EntryType::Symlink => {
                let target = link.context("the link has no target")?;
                fs::symlinkat(target, parent, name).context("the link cannot be made")?;
            }
            EntryType::Link => return self.hard_link(parent, name, link),
            // Devices and pipes are made by the shim, if at all.
            EntryType::Char | EntryType::Block | EntryType::Fifo => return Ok(()),
            other => bail!("entries of type {other:?} are not supported"),
        }
        self.own(header, parent, name)
    }

    fn own(&self, header: &Header, parent: &OwnedFd, name: &str) -> Result<()> {
        if !self.owners {
            return Ok(());
        }
        let number = |number: io::Result<u64>| number.ok().and_then(|number| u32::try_from(number).ok());
        let user = number(header.uid()).context("its owner is no number")?;
        let group = number(header.gid()).context("its group is no number")?;
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        fs::chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            .context("its owner cannot be set")
    }

    fn hard_link(&self, parent: &OwnedFd, name: &str, link: Option<Vec<u8>>) -> Result<()> {
        let target = link.context("the link has no target")?;
        let parts = parts(&target).context("its target leads out of the image")?;
        let (last, _) = parts.split_last().context("the link has no target")?;
        let text = parts.join("/");
        self.root.existing(&text).with_context(|| format!("its target {text} does not exist"))?;
        let folder = self.root.parent(&parts)?;
        ensure!(type_of(folder.as_fd(), last)? != Some(FileType::Directory), "its target {text} is a folder");
        fs::linkat(&folder, *last, parent, name, AtFlags::empty()).context("the link cannot be made")
    }
}

impl Extension {
    /// Reads an entry that only extends the next header; returns whether it was one.
    fn read(&mut self, header: &Header, content: &mut impl Read) -> Result<bool> {
        let kind = header.entry_type();
        let is_extension = matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader
        );
        if !is_extension {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        content.take(limits::EXTENSION + 1).read_to_end(&mut bytes).context("it is cut off")?;
        ensure!(
            bytes.len() as u64 <= limits::EXTENSION,
            "its header has more than {} bytes",
            limits::EXTENSION
        );
        let text = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
            Some(bytes)
        };
        match kind {
            EntryType::GNULongName => self.path = text(bytes),
            EntryType::GNULongLink => self.link = text(bytes),
            EntryType::XHeader => self.records(&bytes)?,
            _ => {}
        }
        Ok(true)
    }

    fn records(&mut self, bytes: &[u8]) -> Result<()> {
        for record in PaxExtensions::new(bytes) {
            let record = record.context("its PAX records are damaged")?;
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(record.value_bytes().to_vec()),
                b"size" => bail!("files of more than 8 GiB are not supported"),
                key if key.starts_with(b"GNU.sparse.") => bail!("sparse files are not supported"),
                _ => {}
            }
        }
        Ok(())
    }
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
