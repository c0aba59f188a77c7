//! The single layer of the image, and reproducible tar archives without times and owners.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use metal_boot::images::program::Entry;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

fn path_of(entry: &Entry) -> &str {
    match entry {
        Entry::File { path, .. } | Entry::Link { path, .. } => path,
    }
}

/// A layer in the form in which an image contains it.
pub struct Layer {
    /// The compressed archive.
    pub compressed: Vec<u8>,
    /// The digest of the uncompressed archive.
    pub contents: String,
}

impl Layer {
    /// Packs `entries` into a layer, with their parent folders, and empty folders that belong to [`super::USER`] alone.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn of(entries: &[Entry], own: &[&str]) -> Result<Self> {
        let out = Hashing { inner: GzEncoder::new(Vec::new(), Compression::default()), hash: Sha256::new() };
        let mut archive = archive(out);
        for folder in folders(entries) {
            let mut header = header(0o755, 0, EntryType::Directory);
            archive.append_data(&mut header, folder, io::empty())?;
        }
        for folder in own {
            let mut header = header(0o700, 0, EntryType::Directory);
            header.set_uid(super::USER.into());
            header.set_gid(super::USER.into());
            archive.append_data(&mut header, format!("{}/", relative(folder)), io::empty())?;
        }
        for entry in entries {
            let path = relative(path_of(entry));
            match entry {
                Entry::File { source, .. } => {
                    let content =
                        std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
                    add(&mut archive, path, 0o755, &content)?;
                }
                Entry::Link { target, .. } => {
                    let mut header = header(0o777, 0, EntryType::Symlink);
                    archive.append_link(&mut header, path, target)?;
                }
            }
        }
        let out = archive.into_inner()?;
        Ok(Self { compressed: out.inner.finish()?, contents: super::digest(out.hash) })
    }
}

/// Returns the parent folders of all entries, each after its own parent.
fn folders(entries: &[Entry]) -> BTreeSet<String> {
    let mut folders = BTreeSet::new();
    for entry in entries {
        let mut folder = relative(path_of(entry));
        while let Some((above, _)) = folder.rsplit_once('/') {
            folders.insert(format!("{above}/"));
            folder = above;
        }
    }
    folders
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

/// Returns an archive that is written to `out`.
pub(super) fn archive<W: Write>(out: W) -> Builder<W> {
    Builder::new(out)
}

/// Adds a file to the archive.
pub(super) fn add(archive: &mut Builder<impl Write>, path: &str, mode: u32, content: &[u8]) -> Result<()> {
    let mut header = header(mode, content.len(), EntryType::Regular);
    archive.append_data(&mut header, path, content).context("cannot write the image")
}

fn header(mode: u32, size: usize, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// A writer that computes the digest of everything written through it.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
