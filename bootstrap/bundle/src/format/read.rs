//! Reads bundles: the table first, then any blob by its offset.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use super::BLOCK;
use super::table::{self, Place, Table, Trailer};
use crate::descriptor::{Descriptor, Document, IMAGE_INDEX};
use crate::digest::Digest;
use crate::limits;
use crate::section::Section;

/// The first entry, and its content.
pub(crate) const LAYOUT: &str = "oci-layout";
pub(crate) const LAYOUT_CONTENT: &[u8] = b"{\"imageLayoutVersion\":\"1.0.0\"}";

/// An open bundle. It stays readable when its file is replaced or removed.
#[derive(Clone, Debug)]
pub struct Bundle {
    path: PathBuf,
    file: Arc<File>,
    table: Table,
    trailer: Trailer,
    roots: Vec<Descriptor>,
}

impl Bundle {
    /// Opens a bundle. Only its table and its index are read and checked; [`crate::verify`] checks all of it.
    ///
    /// # Errors
    /// The file cannot be read, is no bundle, or was cut off or changed.
    pub fn open(path: &Path) -> Result<Self> {
        Self::read(path).with_context(|| format!("the bundle {} cannot be used", path.display()))
    }

    fn read(path: &Path) -> Result<Self> {
        let file = ::files::open(path).context("it cannot be opened")?;
        let length = file.metadata().context("it cannot be read")?.len();
        let trailer_at = length.checked_sub(3 * BLOCK).context("it is too short for a bundle")?;
        let mut end = [0; 3 * BLOCK as usize];
        file.read_exact_at(&mut end, trailer_at).context("it cannot be read")?;
        let (block, zeros) = end.split_at(BLOCK as usize);
        ensure!(
            zeros.iter().all(|byte| *byte == 0),
            "it does not end as a bundle: it is no bundle, or it was cut off"
        );
        let trailer = Trailer::parse(block, trailer_at)?;
        let file = Arc::new(file);
        let part = |(place, digest): (Place, Digest), what: &str| -> Result<Vec<u8>> {
            let content = whole(Section::new(file.clone(), place.offset, place.size))
                .with_context(|| format!("{what} cannot be read"))?;
            ensure!(Digest::of(&content) == digest, "{what} is damaged: its digest is not {digest}");
            Ok(content)
        };
        let (index, table) = (part(trailer.index, super::INDEX)?, part(trailer.table, super::TABLE)?);
        let table: Table = serde_json::from_slice(&table).context("its table is damaged")?;
        table::check(&table, trailer.index.0.offset)?;
        let own = Descriptor::of(IMAGE_INDEX, &index);
        let roots = Document::parse(&own, &index).context(super::INDEX)?.manifests;
        Ok(Self { path: path.to_owned(), file, table, trailer, roots })
    }

    /// Returns the path with which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the open file.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Returns the places of all blobs.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Returns the descriptors of all container images and artifacts.
    pub(crate) fn roots(&self) -> &[Descriptor] {
        &self.roots
    }

    /// Returns the place of a blob.
    pub(crate) fn place(&self, digest: &Digest) -> Option<Place> {
        self.table.get(digest).copied()
    }

    /// Returns a reader of a blob, whose digest is not checked.
    pub(crate) fn blob(&self, digest: &Digest) -> Option<Section> {
        let place = self.place(digest)?;
        Some(Section::new(self.file.clone(), place.offset, place.size))
    }

    /// Returns the content of a small blob, whose digest is checked; `None` if the bundle does not have it.
    ///
    /// # Errors
    /// It is larger than `most` bytes, damaged, or cannot be read.
    pub(crate) fn small(&self, digest: &Digest, most: u64) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.place(digest) else { return Ok(None) };
        ensure!(place.size <= most, "{digest} has {} bytes, more than {most}", place.size);
        let section = Section::new(self.file.clone(), place.offset, place.size);
        let content = whole(section).with_context(|| format!("{digest} cannot be read"))?;
        ensure!(Digest::of(&content) == *digest, "{digest} is damaged: verify the bundle and make it again");
        Ok(Some(content))
    }

    /// Returns a manifest or an index; `None` if the bundle does not have it.
    ///
    /// # Errors
    /// It is too large, damaged, or cannot be read.
    pub(crate) fn document(&self, descriptor: &Descriptor) -> Result<Option<Vec<u8>>> {
        self.small(&descriptor.digest, limits::DOCUMENT)
    }
}

/// Returns the whole content of a section.
///
/// # Errors
/// It cannot be read, or the file ends before.
pub(crate) fn whole(mut section: Section) -> Result<Vec<u8>> {
    let (length, mut content) = (section.remaining(), Vec::new());
    section.read_to_end(&mut content)?;
    ensure!(content.len() as u64 == length, "the file is shorter than it was");
    Ok(content)
}
