//! The only layer of the image: an archive of the tree, which is the same for the same files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bundle::{Digest, Hashing};
use container_images::is_kept_attribute;
use flate2::{Compression, GzBuilder};
use rustix::fs::{lgetxattr, llistxattr, major, minor};
use rustix::io::Errno;
use tar::{Builder, EntryType, Header};

use crate::limits;

/// A layer in the form in which an image has it.
pub(super) struct Layer {
    /// The file with the compressed archive.
    pub(super) path: PathBuf,
    /// Its digest and size.
    pub(super) digest: Digest,
    pub(super) size: u64,
    /// The digest of the uncompressed archive.
    pub(super) content: Digest,
}

/// Packs a tree into a file in `scratch`. Nothing in it is younger than `time`.
///
/// # Errors
/// A file cannot be read, or the disk is full.
pub(super) fn pack(tree: &Path, scratch: &Path, time: i64) -> Result<Layer> {
    let path = scratch.join("layer.tar.gz");
    let cannot = || format!("cannot write {}", path.display());
    let whole = Hashing::new(File::create(&path).with_context(cannot)?);
    // Without a time and a name, so that the same files give the same bytes.
    let compressed = GzBuilder::new().write(BufWriter::new(whole), Compression::fast());
    let content = BufWriter::new(Hashing::new(compressed));
    let mut packer = Packer { out: Builder::new(content), time, linked: BTreeMap::new() };
    packer.folder(tree, Path::new(""))?;
    let finish = || -> io::Result<(Digest, Digest, u64)> {
        let (compressed, content, _) = packer.out.into_inner()?.into_inner()?.into_parts();
        let (_, digest, size) = compressed.finish()?.into_inner()?.into_parts();
        Ok((content, digest, size))
    };
    let (content, digest, size) = finish().with_context(cannot)?;
    Ok(Layer { path, digest, size, content })
}

struct Packer<W: Write> {
    out: Builder<W>,
    time: i64,
    /// The first names of files that have several.
    linked: BTreeMap<(u64, u64), PathBuf>,
}

impl<W: Write> Packer<W> {
    /// Adds everything in a folder, by name. `path` is that of the folder in the image.
    fn folder(&mut self, folder: &Path, path: &Path) -> Result<()> {
        let cannot = || format!("cannot read {}", folder.display());
        let entries = fs::read_dir(folder).with_context(cannot)?;
        let mut names = entries
            .map(|entry| Ok(entry.with_context(cannot)?.file_name()))
            .collect::<Result<Vec<OsString>>>()?;
        names.sort();
        for name in names {
            let (source, path) = (folder.join(&name), path.join(&name));
            let found = fs::symlink_metadata(&source).with_context(cannot)?;
            self.entry(&source, &path, &found).with_context(|| format!("cannot pack /{}", path.display()))?;
            if found.is_dir() {
                self.folder(&source, &path)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, source: &Path, path: &Path, found: &Metadata) -> Result<()> {
        let kind = found.file_type();
        if kind.is_socket() {
            return Ok(());
        }
        let mut header = self.header(found);
        if !kind.is_dir() && found.nlink() > 1 {
            if let Some(first) = self.linked.get(&(found.dev(), found.ino())).cloned() {
                header.set_entry_type(EntryType::Link);
                return self.append(header, path, Some(&first), Vec::new(), io::empty());
            }
            self.linked.insert((found.dev(), found.ino()), path.to_owned());
        }
        let attributes = attributes(source)?;
        if kind.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            let target = fs::read_link(source)?;
            return self.append(header, path, Some(&target), attributes, io::empty());
        }
        if kind.is_file() {
            header.set_entry_type(EntryType::Regular);
            header.set_size(found.len());
            return self.append(header, path, None, attributes, File::open(source)?);
        }
        header.set_entry_type(match () {
            () if kind.is_dir() => EntryType::Directory,
            () if kind.is_char_device() => EntryType::Char,
            () if kind.is_block_device() => EntryType::Block,
            () => EntryType::Fifo,
        });
        header.set_device_major(major(found.rdev()))?;
        header.set_device_minor(minor(found.rdev()))?;
        self.append(header, path, None, attributes, io::empty())
    }

    fn header(&self, found: &Metadata) -> Header {
        let mut header = Header::new_ustar();
        header.set_mode(found.mode() & 0o7777);
        header.set_uid(found.uid().into());
        header.set_gid(found.gid().into());
        header.set_size(0);
        header.set_mtime(u64::try_from(found.mtime().min(self.time)).unwrap_or_default());
        header
    }

    /// Writes an entry. What has no room in its header goes to records of PAX before it.
    fn append(
        &mut self,
        mut header: Header,
        path: &Path,
        target: Option<&Path>,
        attributes: Vec<(String, Vec<u8>)>,
        content: impl io::Read,
    ) -> Result<()> {
        let mut records = attributes;
        let path = path.as_os_str().as_bytes();
        if !put(&mut header.as_old_mut().name, path) {
            records.push(("path".to_owned(), path.to_vec()));
        }
        if let Some(target) = target {
            let target = target.as_os_str().as_bytes();
            if !put(&mut header.as_old_mut().linkname, target) {
                records.push(("linkpath".to_owned(), target.to_vec()));
            }
        }
        if !records.is_empty() {
            let records = records.iter().map(|(key, value)| (key.as_str(), value.as_slice()));
            self.out.append_pax_extensions(records)?;
        }
        header.set_cksum();
        Ok(self.out.append(&header, content)?)
    }
}

/// Puts a name into a field of a header, cut off if it is too long; returns whether it fits.
fn put(field: &mut [u8; 100], name: &[u8]) -> bool {
    let length = name.len().min(field.len());
    field[..length].copy_from_slice(&name[..length]);
    name.len() <= field.len()
}

/// Returns the extended attributes that an image keeps, as records of PAX, by name.
fn attributes(path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut names = vec![0; limits::ATTRIBUTES];
    let length = match llistxattr(path, &mut names) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    let names = names[..length].split(|byte| *byte == 0);
    for name in names.filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| is_kept_attribute(name))
    {
        let mut value = vec![0; limits::ATTRIBUTES];
        let length = lgetxattr(path, name, &mut value)?;
        value.truncate(length);
        found.push((format!("SCHILY.xattr.{name}"), value));
    }
    found.sort();
    Ok(found)
}
