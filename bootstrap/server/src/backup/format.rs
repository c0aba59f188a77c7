//! The format of backups.
//!
//! ```text
//! "firstlight backup\n" · records
//! record   kind u8 · length u32 · content · CRC-32 of all of the record before
//! 1 header JSON of [`Header`]
//! 2 file   length of the name u16 · name · content
//! 3 object revision u64 · create revision u64 · length of the key u32 · key · value
//! 4 end    SHA-256 of everything before this record
//! ```
//! Integers are little-endian. The header comes first, the end last, and nothing after it.

use machinery::clock::Clock;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{Snapshot, Stored};

pub(super) const MAGIC: &[u8] = b"firstlight backup\n";
/// The format that this version writes, and the newest one that it reads.
pub(super) const FORMAT: u64 = 1;

pub(super) const HEADER: u8 = 1;
pub(super) const FILE: u8 = 2;
pub(super) const OBJECT: u8 = 3;
pub(super) const END: u8 = 4;

/// The length of a record before its content, in bytes.
pub(super) const RECORD_HEAD: usize = 1 + 4;
/// The length of a record after its content, in bytes.
pub(super) const RECORD_SUM: usize = 4;

/// The header of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub format: u64,
    /// The version of firstlight that wrote the backup.
    pub version: String,
    /// The time of the backup, in RFC 3339.
    pub taken: String,
    /// The revision of the objects.
    pub revision: u64,
    /// The number of objects.
    pub objects: usize,
}

impl Header {
    /// Returns the header for a backup of a snapshot.
    pub(super) fn of(snapshot: &Snapshot, clock: &Clock) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            taken: machinery::clock::rfc3339(clock.now()),
            revision: snapshot.revision.0,
            objects: snapshot.items.len(),
        }
    }
}

/// Encodes the records of a backup.
pub(super) struct Encoder {
    hash: Sha256,
}

impl Encoder {
    /// Returns an encoder, and the bytes of the magic number and the header.
    pub(super) fn begin(header: &Header) -> serde_json::Result<(Self, Vec<u8>)> {
        let mut encoder = Self { hash: Sha256::new_with_prefix(MAGIC) };
        let mut begin = MAGIC.to_vec();
        begin.extend(encoder.record(HEADER, &[&serde_json::to_vec(header)?]));
        Ok((encoder, begin))
    }

    /// Returns the record of a file of the data directory.
    pub(super) fn file(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.record(FILE, &[&length.to_le_bytes(), name.as_bytes(), content])
    }

    /// Returns the record of an object.
    pub(super) fn object(&mut self, stored: &Stored) -> Vec<u8> {
        let key = stored.key.as_str().as_bytes();
        let parts = [
            &stored.mod_revision.0.to_le_bytes()[..],
            &stored.create_revision.0.to_le_bytes(),
            &u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes(),
            key,
            &stored.value,
        ];
        self.record(OBJECT, &parts)
    }

    /// Returns the end record, with the checksum of everything before.
    pub(super) fn end(mut self) -> Vec<u8> {
        let sum = self.hash.clone().finalize();
        self.record(END, &[&sum])
    }

    fn record(&mut self, kind: u8, parts: &[&[u8]]) -> Vec<u8> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut record = Vec::with_capacity(RECORD_HEAD + length + RECORD_SUM);
        record.push(kind);
        record.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        for part in parts {
            record.extend_from_slice(part);
        }
        record.extend(crc32fast::hash(&record).to_le_bytes());
        self.hash.update(&record);
        record
    }
}
