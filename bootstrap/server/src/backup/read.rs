//! Reads a backup: every record is checked before it is returned, and the end record against the whole.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use store::{Derived, Key, Revision, Stored};

use super::files;
use super::format::{END, FILE, FORMAT, HEADER, Header, MAGIC, OBJECT, RECORD_HEAD, RECORD_SUM};

/// A record of a backup after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record {
    /// A file of the data directory, with its path below the directory.
    File(String, Vec<u8>),
    /// An object.
    Object(Stored),
}

/// A reader of the records of a backup.
pub(super) struct Reader<R> {
    source: R,
    hash: Sha256,
    header: Header,
    revisions: HashSet<Revision>,
    keys: HashSet<Key>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Checks the magic number and reads the header.
    pub(super) fn open(mut source: R) -> Result<Self> {
        let mut magic = [0; MAGIC.len()];
        match source.read_exact(&mut magic) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => bail!("it is no backup of firstlight"),
            Err(error) => return Err(error.into()),
        }
        ensure!(magic == MAGIC, "it is no backup of firstlight");
        let mut hash = Sha256::new_with_prefix(MAGIC);
        let (kind, content) = read_record(&mut source, &mut hash)?;
        ensure!(kind == HEADER, "it has no header");
        let found: serde_json::Value = serde_json::from_slice(&content).context("its header is no JSON")?;
        let format = found["format"].as_u64().unwrap_or_default();
        ensure!(
            format <= FORMAT,
            "it has format {format}, this version of firstlight reads up to format {FORMAT}; use a newer firstlight"
        );
        let header = serde_json::from_value(found).context("its header lacks something")?;
        Ok(Self { source, hash, header, revisions: HashSet::new(), keys: HashSet::new(), ended: false })
    }

    /// Returns the header.
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the next record; `None` at the end of a complete backup.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        if self.ended {
            return Ok(None);
        }
        let sum = self.hash.clone().finalize();
        let (kind, content) = read_record(&mut self.source, &mut self.hash)?;
        match kind {
            FILE => file(content).map(Some),
            OBJECT => self.object(&content).map(Some),
            END => {
                ensure!(content == sum[..], "its checksum does not match");
                self.end()?;
                Ok(None)
            }
            kind => bail!("it has a record of unknown kind {kind}"),
        }
    }

    fn object(&mut self, content: &[u8]) -> Result<Record> {
        let object = stored(content).context("an object cannot be read")?;
        let revision = object.mod_revision;
        ensure!(
            revision.0 <= self.header.revision && revision != Revision::NONE,
            "{} has revision {revision}, the backup {}",
            object.key,
            self.header.revision
        );
        ensure!(self.revisions.insert(revision), "two objects have revision {revision}");
        ensure!(self.keys.insert(object.key.clone()), "{} is there twice", object.key);
        Ok(Record::Object(object))
    }

    fn end(&mut self) -> Result<()> {
        let (found, expected) = (self.keys.len(), self.header.objects);
        ensure!(found == expected, "it has {found} objects, its header says {expected}");
        let more = self.source.read(&mut [0])?;
        ensure!(more == 0, "something follows its end");
        self.ended = true;
        Ok(())
    }
}

fn read_record(source: &mut impl Read, hash: &mut Sha256) -> Result<(u8, Vec<u8>)> {
    let mut record = Vec::new();
    fill(source, &mut record, RECORD_HEAD)?;
    let (kind, length) = match record[..] {
        [kind, a, b, c, d] => (kind, u32::from_le_bytes([a, b, c, d])),
        _ => bail!("a record has no length"),
    };
    let length = usize::try_from(length)?;
    fill(source, &mut record, length)?;
    let mut sum = Vec::new();
    fill(source, &mut sum, RECORD_SUM)?;
    ensure!(crc32fast::hash(&record).to_le_bytes() == sum[..], "the checksum of a record does not match");
    hash.update(&record);
    hash.update(&sum);
    record.drain(..RECORD_HEAD);
    Ok((kind, record))
}

/// Reads `length` bytes into `buffer`. The buffer grows with the data that exist, so a damaged length does not cause a huge allocation.
fn fill(source: &mut impl Read, buffer: &mut Vec<u8>, length: usize) -> Result<()> {
    let read = source.take(length as u64).read_to_end(buffer)?;
    ensure!(read == length, "the file is truncated");
    Ok(())
}

fn file(content: Vec<u8>) -> Result<Record> {
    let parts = content.split_first_chunk::<2>().and_then(|(length, rest)| {
        let (name, content) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        Some((std::str::from_utf8(name).ok()?.to_owned(), content.to_vec()))
    });
    let (name, content) = parts.context("a file cannot be read")?;
    ensure!(files::belongs(&name), "it holds the file {name:?}, which is none of a data directory");
    Ok(Record::File(name, content))
}

fn stored(content: &[u8]) -> Option<Stored> {
    let (mod_revision, rest) = content.split_first_chunk::<8>()?;
    let (create_revision, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (key, value) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some(Stored {
        key: Key::parse(std::str::from_utf8(key).ok()?).ok()?,
        value: Bytes::copy_from_slice(value),
        mod_revision: Revision(u64::from_le_bytes(*mod_revision)),
        create_revision: Revision(u64::from_le_bytes(*create_revision)),
        derived: Derived::default(),
    })
}
