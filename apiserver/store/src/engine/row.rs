//! How a change is written as bytes, by every engine that writes bytes.
//!
//! ```text
//! kind u8 · create revision u64 · previous u64 · time i64 · key length u32 · key · value · CRC-32 of all before and the revision
//! ```
//! Integers are little-endian. The revision is the row's key in the engine; it takes part in the checksum, so a row that
//! strays to another place is found.

use bytes::Bytes;

use super::{Change, ChangeKind};
use crate::key::Key;
use crate::revision::Revision;

/// The storage format that this version writes, and the newest that it reads.
pub(crate) const FORMAT: u64 = 1;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const HEADER: usize = 1 + 8 + 8 + 8 + 4;
const CHECKSUM: usize = 4;

pub(crate) fn encode(change: &Change) -> Vec<u8> {
    let key = change.key.as_str().as_bytes();
    let mut row = Vec::with_capacity(HEADER + key.len() + change.value.len() + CHECKSUM);
    row.push(match change.kind {
        ChangeKind::Put => PUT,
        ChangeKind::Delete => DELETE,
    });
    row.extend(change.create_revision.0.to_le_bytes());
    row.extend(change.previous.0.to_le_bytes());
    row.extend(change.time.to_le_bytes());
    row.extend(u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes());
    row.extend(key);
    row.extend(&change.value);
    let checksum = checksum(change.revision, &row);
    row.extend(checksum.to_le_bytes());
    row
}

fn checksum(revision: Revision, row: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&revision.0.to_le_bytes());
    hasher.update(row);
    hasher.finalize()
}

/// What trimming has to know of a row: its kind and the row that it replaced.
pub(crate) fn decode_links(revision: Revision, row: &[u8]) -> Result<(ChangeKind, Revision), String> {
    let mut fields = Fields(row);
    let kind = fields.kind().ok_or_else(|| short(revision))?;
    fields.number().ok_or_else(|| short(revision))?;
    let previous = fields.number().ok_or_else(|| short(revision))?;
    Ok((kind, Revision(previous)))
}

/// Reads a row; the text of the error says what does not fit.
pub(crate) fn decode(revision: Revision, row: &[u8]) -> Result<Change, String> {
    let (content, sum) = row.split_last_chunk::<CHECKSUM>().ok_or_else(|| short(revision))?;
    if checksum(revision, content) != u32::from_le_bytes(*sum) {
        return Err(format!("the checksum of revision {revision} does not match"));
    }
    decode_content(revision, content).ok_or_else(|| short(revision))
}

fn decode_content(revision: Revision, content: &[u8]) -> Option<Change> {
    let mut fields = Fields(content);
    let kind = fields.kind()?;
    let create_revision = Revision(fields.number()?);
    let previous = Revision(fields.number()?);
    let time = i64::from_le_bytes(fields.take()?);
    let length = usize::try_from(u32::from_le_bytes(fields.take()?)).ok()?;
    let (key, value) = fields.0.split_at_checked(length)?;
    let key = Key::parse(std::str::from_utf8(key).ok()?).ok()?;
    Some(Change {
        revision,
        kind,
        key,
        value: Bytes::copy_from_slice(value),
        create_revision,
        previous,
        time,
    })
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

    fn kind(&mut self) -> Option<ChangeKind> {
        match self.take::<1>()? {
            [PUT] => Some(ChangeKind::Put),
            [DELETE] => Some(ChangeKind::Delete),
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

    #[test]
    fn rows_come_back() {
        for change in [change(ChangeKind::Put, b"{}"), change(ChangeKind::Delete, b"")] {
            let row = encode(&change);
            assert_eq!(decode(Revision(7), &row).unwrap(), change);
            assert_eq!(decode_links(Revision(7), &row).unwrap(), (change.kind, Revision(5)));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_lost_byte_is_found() {
        let row = encode(&change(ChangeKind::Put, b"some value"));
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(Revision(7), &damaged).is_err(), "bit {bit}");
        }
        for length in 0..row.len() {
            assert!(decode(Revision(7), &row[..length]).is_err(), "length {length}");
        }
        assert!(decode(Revision(8), &row).is_err(), "a row at another revision");
    }
}
