//! Writes a bundle to a new file, which takes the name of the bundle when it is complete and on the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use tar::{EntryType, Header};

use super::read::{LAYOUT, LAYOUT_CONTENT};
use super::table::{Place, Table, Trailer};
use super::{BLOCK, INDEX, TABLE, TRAILER};
use crate::descriptor::Descriptor;
use crate::digest::{Digest, Hashing};

/// A bundle that is being written. If it is dropped before [`Writer::finish`], the new file is removed.
pub(crate) struct Writer {
    file: File,
    path: PathBuf,
    beside: PathBuf,
    at: u64,
    table: Table,
    is_finished: bool,
}

impl Writer {
    /// Begins a bundle that will have the name `path`.
    ///
    /// # Errors
    /// The new file beside it cannot be made, or exists, because another command writes the bundle.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut name = path.file_name().with_context(|| format!("{} is no file", path.display()))?.to_owned();
        name.push(".new");
        let beside = path.with_file_name(name);
        // Only the owner may read it, because manifests often have passwords of BMCs.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
                "{0} exists: another command writes this bundle, or was interrupted; if none runs, remove {0}",
                beside.display()
            ),
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", beside.display())),
        };
        let path = path.to_owned();
        let mut writer = Self { file, path, beside, at: 0, table: Table::new(), is_finished: false };
        writer.entry(LAYOUT, LAYOUT_CONTENT)?;
        Ok(writer)
    }

    /// Writes a blob whose digest and size are known. A blob that is in the bundle already is not written twice.
    ///
    /// # Errors
    /// `content` has another digest or size, or a read or write fails.
    pub(crate) fn blob(&mut self, digest: &Digest, size: u64, content: impl Read) -> Result<()> {
        if self.table.contains_key(digest) {
            return Ok(());
        }
        let (found, length) = self.stream(&digest.path(), size, content)?;
        ensure!(length == size, "it has {length} bytes, and its descriptor says {size}");
        ensure!(found == *digest, "its content has the digest {found}: it is damaged");
        self.keep(found, size);
        Ok(())
    }

    /// Writes `size` bytes of a file as a blob, and returns its digest.
    ///
    /// # Errors
    /// The file has another size, because it changes, or a read or write fails.
    pub(crate) fn file(&mut self, size: u64, content: impl Read) -> Result<Digest> {
        let begin = self.at;
        // The name of the blob is its digest, which is known only when all of it was read.
        let (digest, length) = self.stream(&Digest::of(b"").path(), size, content)?;
        ensure!(length == size, "it changed while it was read");
        let cannot = || format!("cannot write {}", self.beside.display());
        if self.table.contains_key(&digest) {
            self.at = begin;
            self.file.seek(SeekFrom::Start(begin)).with_context(cannot)?;
            self.file.set_len(begin).with_context(cannot)?;
            return Ok(digest);
        }
        self.file.seek(SeekFrom::Start(begin)).with_context(cannot)?;
        self.file.write_all(header(&digest.path(), size)?.as_bytes()).with_context(cannot)?;
        self.file.seek(SeekFrom::Start(self.at)).with_context(cannot)?;
        self.keep(digest, size);
        Ok(digest)
    }

    /// Writes the index and the table, waits until everything is on the disk, and gives the file its name.
    ///
    /// # Errors
    /// A write fails; an existing bundle is unchanged then.
    pub(crate) fn finish(mut self, roots: &[Descriptor]) -> Result<()> {
        let index = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": crate::descriptor::IMAGE_INDEX,
            "manifests": roots,
        });
        let (index, table) = (serde_json::to_vec(&index)?, serde_json::to_vec(&self.table)?);
        let trailer = Trailer { index: self.entry(INDEX, &index)?, table: self.entry(TABLE, &table)? };
        self.entry(TRAILER, &trailer.block())?;
        let cannot = || format!("cannot write {}", self.path.display());
        self.file.write_all(&[0; 2 * BLOCK as usize]).with_context(cannot)?;
        if let Ok(old) = std::fs::metadata(&self.path) {
            self.file.set_permissions(old.permissions()).with_context(cannot)?;
        }
        files::publish(&self.beside, &self.path)?;
        self.is_finished = true;
        Ok(())
    }

    /// Writes an entry from memory, and returns its place and digest.
    fn entry(&mut self, name: &str, content: &[u8]) -> Result<(Place, Digest)> {
        let offset = self.at + BLOCK;
        let (digest, size) = self.stream(name, content.len() as u64, content)?;
        Ok((Place { offset, size }, digest))
    }

    /// Writes an entry of at most `size` bytes, and returns the digest and the length of `content`, of which one more byte is read.
    fn stream(&mut self, name: &str, size: u64, content: impl Read) -> Result<(Digest, u64)> {
        let cannot = || format!("cannot write {}", self.beside.display());
        self.file.write_all(header(name, size)?.as_bytes()).with_context(cannot)?;
        let mut content = Hashing::new(content.take(size.saturating_add(1)));
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("cannot be read"),
            };
            self.file.write_all(buffer.get(..count).unwrap_or_default()).with_context(cannot)?;
        }
        let padding = size.next_multiple_of(BLOCK) - size;
        let padding = usize::try_from(padding).unwrap_or_default();
        self.file.write_all([0; BLOCK as usize].get(..padding).unwrap_or_default()).with_context(cannot)?;
        self.at += BLOCK + size.next_multiple_of(BLOCK);
        Ok(content.end())
    }

    fn keep(&mut self, digest: Digest, size: u64) {
        let offset = self.at - size.next_multiple_of(BLOCK);
        self.table.insert(digest, Place { offset, size });
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_finished {
            // If the incomplete file cannot be removed, its name shows that it is incomplete.
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

/// Returns the header of a file. Times and owners are zero, so that the same content gives the same bundle.
fn header(name: &str, size: u64) -> Result<Header> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_path(name).with_context(|| format!("{name} is no name of an entry"))?;
    header.set_mode(0o644);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    Ok(header)
}
