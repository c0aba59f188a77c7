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
const COMPRESS_FROM: usize = 512;
const HEADER: usize = 1 + 8 + 8 + 8 + 4;
const CHECKSUM: usize = 4;

pub(crate) fn encode(change: &Change) -> Vec<u8> {
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
pub(crate) fn decode_links(revision: Revision, row: &[u8]) -> Result<(ChangeKind, Revision), String> {
    let mut fields = Fields(row);
    let (kind, _) = fields.kind().ok_or_else(|| short(revision))?;
    fields.number().ok_or_else(|| short(revision))?;
    let previous = fields.number().ok_or_else(|| short(revision))?;
    Ok((kind, Revision(previous)))
}

/// Decodes a row. The error describes the damage.
pub(crate) fn decode(revision: Revision, row: &[u8]) -> Result<Change, String> {
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
pub(crate) fn decode_without_value(revision: Revision, row: &[u8]) -> Result<Change, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: ChangeKind, value: &'static [u8]) -> Change {
        Change {
            revision: Revision(7),
            kind,
            key: Key::new("g.io", "things", Some("ns"), "name").unwrap(),
            value: Bytes::from_static(value),
            create_revision: Revision(3),
            previous: Revision(5),
            time: -1,
        }
    }

    /// A value that is long enough to be compressed.
    const LONG: &[u8] = &[b'x'; 2 * COMPRESS_FROM];

    #[test]
    fn rows_come_back() {
        let random: &[u8] = &std::array::from_fn::<u8, 1024, _>(|n| (n * n * 7 / 13 + n * 31 / 7) as u8);
        let random: &'static [u8] = Box::leak(random.into());
        for change in [
            change(ChangeKind::Put, b"{}"),
            change(ChangeKind::Put, LONG),
            change(ChangeKind::Put, random),
            change(ChangeKind::Delete, b""),
            change(ChangeKind::Delete, LONG),
        ] {
            let row = encode(&change);
            assert_eq!(decode(Revision(7), &row).unwrap(), change);
            let without_value = Change { value: Bytes::new(), ..change.clone() };
            assert_eq!(decode_without_value(Revision(7), &row).unwrap(), without_value);
            assert_eq!(decode_links(Revision(7), &row).unwrap(), (change.kind, Revision(5)));
        }
    }

    #[test]
    fn long_values_take_less_room_and_short_ones_no_more() {
        assert!(encode(&change(ChangeKind::Put, LONG)).len() < 200);
        let short = change(ChangeKind::Put, b"{}");
        assert_eq!(encode(&short).len(), HEADER + short.key.as_str().len() + 2 + CHECKSUM);
    }

    /// Rows of format 1 remain readable.
    #[test]
    fn a_row_of_format_1_is_read() {
        let change = change(ChangeKind::Put, LONG);
        let mut row = encode(&Change { value: Bytes::new(), ..change.clone() });
        row.truncate(row.len() - CHECKSUM);
        row.extend(LONG);
        row.extend(checksum(Revision(7), &row).to_le_bytes());
        assert_eq!(decode(Revision(7), &row).unwrap(), change);
    }

    #[test]
    fn every_flipped_bit_and_every_lost_byte_is_found() {
        for value in [b"some value", LONG] {
            let row = encode(&change(ChangeKind::Put, value));
            for bit in 0..row.len() * 8 {
                let mut damaged = row.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(Revision(7), &damaged).is_err(), "bit {bit}");
                assert!(decode_without_value(Revision(7), &damaged).is_err(), "bit {bit}");
            }
            for length in 0..row.len() {
                assert!(decode(Revision(7), &row[..length]).is_err(), "length {length}");
            }
            assert!(decode(Revision(8), &row).is_err(), "a row at another revision");
        }
    }
}
