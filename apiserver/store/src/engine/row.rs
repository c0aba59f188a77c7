//! The encoding of changes, which all engines that write bytes share.
//!
//! ```text
//! kind u8 · create revision u64 · previous u64 · time i64 · key length u32 · key · value · CRC-32 of all before and the revision
//! ```
//! Integers are little-endian. The revision is the row's key in the engine. It is part of the checksum, so that a
//! misplaced row is found. A long value is an LZ4 block after its length, which the highest bit of `kind` marks.
//! Compression reduces objects to about a third, and so the bytes to write, to read at the start and to verify after a
//! crash.

use bytes::Bytes;

use crate::change::{Change, ChangeKind};
use crate::key::Key;
use crate::revision::Revision;

/// The storage format that this version writes, and the newest that it reads.
///
/// Format 1 has no compressed values.
pub(crate) const FORMAT: u64 = 2;

const PUT: u8 = 1;
const DELETE: u8 = 2;
/// The bit of `kind` that marks a compressed value.
const COMPRESSED: u8 = 0x80;
/// Shorter values are stored without compression. Size in bytes.
pub const COMPRESS_FROM: usize = 512;
const HEADER: usize = 1 + 8 + 8 + 8 + 4;
const CHECKSUM: usize = 4;

/// Encodes a change as a row.
pub fn encode(change: &Change) -> Vec<u8> {
    let key = change.key.as_str().as_bytes();
    let compressed = compressed(&change.value);
    let value = compressed.as_deref().unwrap_or(&change.value);
    let mut row = Vec::with_capacity(HEADER + key.len() + value.len() + CHECKSUM);
    let kind = match change.kind {
        ChangeKind::Put => PUT,
        ChangeKind::Delete => DELETE,
    };
    row.push(if compressed.is_some() { kind | COMPRESSED } else { kind });
    row.extend(change.create_revision.0.to_le_bytes());
    row.extend(change.previous.0.to_le_bytes());
    row.extend(change.time.to_le_bytes());
    row.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
    row.extend(key);
    row.extend(value);
    let checksum = checksum(change.revision, &row);
    row.extend(checksum.to_le_bytes());
    row
}

/// Returns the compressed value, or `None` if it should not be compressed.
fn compressed(value: &[u8]) -> Option<Vec<u8>> {
    let worth_it = |compressed: &Vec<u8>| compressed.len() < value.len();
    (value.len() >= COMPRESS_FROM).then(|| lz4_flex::compress_prepend_size(value)).filter(worth_it)
}

fn checksum(revision: Revision, row: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&revision.0.to_le_bytes());
    hasher.update(row);
    hasher.finalize()
}

/// Returns the kind of a row and the row that it replaced, which trimming needs.
///
/// # Errors
/// The row is too short.
pub fn decode_links(revision: Revision, row: &[u8]) -> Result<(ChangeKind, Revision), String> {
    let mut fields = Fields(row);
    let (kind, _) = fields.kind().ok_or_else(|| short(revision))?;
    fields.number().ok_or_else(|| short(revision))?;
    let previous = fields.number().ok_or_else(|| short(revision))?;
    Ok((kind, Revision(previous)))
}

/// Decodes a row.
///
/// # Errors
/// Describes the damage.
pub fn decode(revision: Revision, row: &[u8]) -> Result<Change, String> {
    let (mut change, value) = checked(revision, row)?;
    change.value = match value {
        Value::Plain(value) => Bytes::copy_from_slice(value),
        Value::Compressed(value) => lz4_flex::decompress_size_prepended(value)
            .map_err(|error| format!("the value of revision {revision} cannot be read: {error}"))?
            .into(),
    };
    Ok(change)
}

/// Decodes and checks a row, but leaves its value empty.
///
/// # Errors
/// Describes the damage.
pub fn decode_without_value(revision: Revision, row: &[u8]) -> Result<Change, String> {
    checked(revision, row).map(|(change, _)| change)
}

enum Value<'a> {
    Plain(&'a [u8]),
    Compressed(&'a [u8]),
}

fn checked(revision: Revision, row: &[u8]) -> Result<(Change, Value<'_>), String> {
    let (content, sum) = row.split_last_chunk::<CHECKSUM>().ok_or_else(|| short(revision))?;
    if checksum(revision, content) != u32::from_le_bytes(*sum) {
        return Err(format!("the checksum of revision {revision} does not match"));
    }
    decode_content(revision, content).ok_or_else(|| short(revision))
}

fn decode_content(revision: Revision, content: &[u8]) -> Option<(Change, Value<'_>)> {
    let mut fields = Fields(content);
    let (kind, compressed) = fields.kind()?;
    let create_revision = Revision(fields.number()?);
    let previous = Revision(fields.number()?);
    let time = i64::from_le_bytes(fields.take()?);
    let length = usize::try_from(u32::from_le_bytes(fields.take()?)).ok()?;
    let (key, value) = fields.0.split_at_checked(length)?;
    let key = Key::parse(std::str::from_utf8(key).ok()?).ok()?;
    let value = if compressed { Value::Compressed(value) } else { Value::Plain(value) };
    Some((Change { revision, kind, key, value: Bytes::new(), create_revision, previous, time }, value))
}

fn short(revision: Revision) -> String {
    format!("revision {revision} cannot be read")
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Returns the kind and whether the value is compressed.
    fn kind(&mut self) -> Option<(ChangeKind, bool)> {
        let [kind] = self.take::<1>()?;
        let compressed = kind & COMPRESSED != 0;
        match kind & !COMPRESSED {
            PUT => Some((ChangeKind::Put, compressed)),
            DELETE => Some((ChangeKind::Delete, compressed)),
            _ => None,
        }
    }
}
