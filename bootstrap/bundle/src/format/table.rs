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
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// The places of all blobs.
pub(crate) type Table = BTreeMap<Digest, Place>;

/// Checks that the blobs are on block boundaries, in the file, and do not overlap.
///
/// # Errors
/// The first blob that is not.
pub(super) fn check(table: &Table, end: u64) -> Result<()> {
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
pub(crate) struct Trailer {
    /// The place and digest of `index.json`.
    pub(crate) index: (Place, Digest),
    /// The place and digest of the table.
    pub(crate) table: (Place, Digest),
}

impl Trailer {
    /// Returns the block.
    pub(crate) fn block(&self) -> Vec<u8> {
        let part = |(place, digest): &(Place, Digest)| format!("{} {} {digest}", place.offset, place.size);
        let mut block = format!("{MAGIC} {} {}\n", part(&self.index), part(&self.table)).into_bytes();
        block.resize(BLOCK as usize, 0);
        block
    }

    /// Reads the block; `end` is its offset.
    ///
    /// # Errors
    /// It is no trailer, or the places are not before it.
    pub(crate) fn parse(block: &[u8], end: u64) -> Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_is_read_as_it_was_written() {
        let part = |offset, size| (Place { offset, size }, Digest::of(b"x"));
        let trailer = Trailer { index: part(512, 10), table: part(2048, limits::TABLE) };
        let end = 2048 + limits::TABLE;
        assert_eq!(Trailer::parse(&trailer.block(), end).unwrap(), trailer);
        assert!(Trailer::parse(&trailer.block(), end - 1).is_err(), "it lies behind the trailer");
        let large = Trailer { table: part(2048, limits::TABLE + 1), ..trailer };
        assert!(Trailer::parse(&large.block(), u64::MAX).is_err());
        let overflow = Trailer { table: part(u64::MAX, 2), ..trailer };
        assert!(Trailer::parse(&overflow.block(), u64::MAX).is_err());
        assert!(Trailer::parse(&[0; 512], end).unwrap_err().to_string().contains("no bundle"));
        let newer = String::from_utf8(trailer.block()).unwrap().replace("bundle-1", "bundle-2");
        assert!(Trailer::parse(newer.as_bytes(), end).unwrap_err().to_string().contains("bundle-2"));
    }

    #[test]
    fn blobs_do_not_overlap() {
        let table = |places: &[(u64, u64)]| -> Table {
            let place = |(number, (offset, size)): (usize, &(u64, u64))| {
                (Digest::of(&[number as u8]), Place { offset: *offset, size: *size })
            };
            places.iter().enumerate().map(place).collect()
        };
        for (places, good) in [
            (&[(512, 512), (1536, 0), (2048, 1)][..], true),
            (&[(0, 1)], false),
            (&[(513, 1)], false),
            (&[(512, 513), (1536, 1)], false),
            (&[(512, 4096)], false),
            (&[(512, u64::MAX)], false),
        ] {
            assert_eq!(check(&table(places), 4000).is_ok(), good, "{places:?}");
        }
    }
}
