//! The table of offsets, and the block that names it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::BLOCK;
use crate::digest::Digest;
use crate::limits;

/// The first word of the trailer, with the version of the format.
const MAGIC: &str = "firstlight-bundle-1";

/// The place of a blob in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The offset of its first byte.
    pub offset: u64,
    /// The number of its bytes.
    pub size: u64,
}

/// The places of all blobs.
pub type Table = BTreeMap<Digest, Place>;

/// Checks that the blobs are on block boundaries, in the file, and do not overlap.
///
/// # Errors
/// The first blob that is not.
pub fn check(table: &Table, end: u64) -> Result<()> {
    let mut places: Vec<(&Digest, &Place)> = table.iter().collect();
    places.sort_by_key(|(_, place)| place.offset);
    let mut free = 0;
    for (digest, place) in places {
        let after = place.offset.checked_add(place.size).filter(|after| *after <= end);
        let after = after.with_context(|| format!("the table has {digest} outside of the file"))?;
        ensure!(
            place.offset % BLOCK == 0 && place.offset >= free + BLOCK,
            "the table has {digest} where another blob is"
        );
        free = after;
    }
    Ok(())
}

/// The content of the last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// The place and digest of `index.json`.
    pub index: (Place, Digest),
    /// The place and digest of the table.
    pub table: (Place, Digest),
}

impl Trailer {
    /// Returns the block.
    pub fn block(&self) -> Vec<u8> {
        let part = |(place, digest): &(Place, Digest)| format!("{} {} {digest}", place.offset, place.size);
        let mut block = format!("{MAGIC} {} {}\n", part(&self.index), part(&self.table)).into_bytes();
        block.resize(BLOCK as usize, 0);
        block
    }

    /// Reads the block; `end` is its offset.
    ///
    /// # Errors
    /// It is no trailer, or the places are not before it.
    pub fn parse(block: &[u8], end: u64) -> Result<Self> {
        let text = block.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
        let words: Vec<&str> = text.unwrap_or_default().split(' ').collect();
        let [magic, index_offset, index_size, index_digest, offset, size, digest] = words.as_slice() else {
            anyhow::bail!("it does not end as a bundle: it is no bundle, or it was cut off");
        };
        ensure!(
            *magic == MAGIC,
            "it has the format {magic:?}, and this version of firstlight reads {MAGIC:?}"
        );
        let place = |offset: &str, size: &str| -> Result<Place> {
            let place = Place { offset: offset.parse()?, size: size.parse()? };
            let fits = place.offset.checked_add(place.size).is_some_and(|after| after <= end);
            ensure!(fits && place.size <= limits::TABLE, "the place of its table is impossible");
            Ok(place)
        };
        Ok(Self {
            index: (place(index_offset, index_size)?, index_digest.parse()?),
            table: (place(offset, size)?, digest.parse()?),
        })
    }
}
