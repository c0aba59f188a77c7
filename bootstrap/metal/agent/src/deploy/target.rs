//! The root disk while an image is being written to it.
//!
//! Invariant: until [`Target::finish`] there is no valid partition table on the disk, neither an old one nor the image's: the ends of the
//! disk are emptied first, and what belongs there is held back.

use std::io;

use anyhow::{Context, Result, bail};

use crate::disk::Disk;

/// What is held back at each end. A partition table takes the first 34 blocks and the last 33.
pub const END: u64 = 1 << 20;
/// The first blocks are written last, by themselves: without them there is neither an MBR nor a GPT.
const FIRST: usize = 4096;
/// Zeros shorter than this are written as they are.
const HOLE: usize = 64 << 10;

/// A disk that is being written.
pub struct Target<'a> {
    disk: &'a mut dyn Disk,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Zeros that have not been written yet.
    hole: (u64, u64),
}

/// Both ends of a disk, as they will be.
pub struct Ends<'a> {
    /// From the beginning on.
    pub head: &'a mut [u8],
    /// Up to the end.
    pub tail: &'a mut [u8],
    /// Bytes of the disk.
    pub size: u64,
    /// Bytes of a block.
    pub block: u64,
}

impl<'a> Target<'a> {
    /// Empties both ends of the disk.
    ///
    /// # Errors
    /// It is too small for anything; it cannot be written.
    pub fn begin(disk: &'a mut dyn Disk) -> Result<Self> {
        let size = disk.size();
        if size < 4 * END {
            bail!("the disk holds {size} bytes, too few for an image");
        }
        let mut empty = || -> io::Result<()> {
            disk.zero(0, END)?;
            disk.zero(size - END, END)?;
            disk.sync()
        };
        empty().context("cannot remove the disk's partition table")?;
        let ends = usize::try_from(END)?;
        Ok(Self { disk, head: vec![0; ends], tail: vec![0; ends], hole: (0, 0) })
    }

    /// Writes a part of the image.
    ///
    /// # Errors
    /// The image is larger than the disk; the disk's errors.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.fits(offset, bytes.len() as u64)?;
        let mut at = offset;
        for part in bytes.chunks(HOLE) {
            // Compared in words: this sees every byte of every image.
            if part.len() == HOLE && part.chunks_exact(16).all(|word| word == [0; 16]) {
                self.zero(at, HOLE as u64)?;
            } else {
                self.put(at, part)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Makes a part of the disk zeros.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn zero(&mut self, offset: u64, length: u64) -> Result<()> {
        self.fits(offset, length)?;
        if self.hole.0 + self.hole.1 == offset {
            self.hole.1 += length;
            return Ok(());
        }
        self.fill()?;
        self.hole = (offset, length);
        Ok(())
    }

    fn fits(&self, offset: u64, length: u64) -> Result<()> {
        if offset.checked_add(length).is_none_or(|end| end > self.disk.size()) {
            bail!(
                "the image is larger than the disk, which holds {} bytes: choose a larger one by spec.rootDeviceHints.minSizeGigabytes",
                self.disk.size()
            );
        }
        Ok(())
    }

    /// Writes zeros that are still to be written; both ends hold zeros already.
    fn fill(&mut self) -> Result<()> {
        let (start, length) = std::mem::take(&mut self.hole);
        let (from, to) = (start.max(END), (start + length).min(self.disk.size() - END));
        if from < to {
            self.disk.zero(from, to - from).with_context(|| format!("cannot write the disk at {from}"))?;
        }
        Ok(())
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.fill()?;
        let end = offset + bytes.len() as u64;
        let tail = self.disk.size() - END;
        copy(&mut self.head, 0, bytes, offset);
        copy(&mut self.tail, tail, bytes, offset);
        let (from, to) = (offset.max(END), end.min(tail));
        if from < to {
            let part = &bytes[usize::try_from(from - offset)?..usize::try_from(to - offset)?];
            self.disk.write_at(from, part).with_context(|| format!("cannot write the disk at {from}"))?;
        }
        Ok(())
    }

    /// Makes the image valid, after `complete` has had the ends to complete: the rest first, then the end, then the beginning but for its
    /// first blocks, then those. Each step is on the disk before the next.
    ///
    /// # Errors
    /// Those of `complete`, and the disk's.
    pub fn finish(mut self, complete: impl FnOnce(&mut Self, &mut Ends<'_>) -> Result<()>) -> Result<()> {
        self.fill()?;
        let (mut head, mut tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        let (size, block) = (self.disk.size(), self.disk.block());
        // The ends are out of its reach now: what `complete` writes itself goes to the middle.
        complete(&mut self, &mut Ends { head: &mut head, tail: &mut tail, size, block })?;
        self.fill()?;
        let disk = self.disk;
        let mut steps = || -> io::Result<()> {
            disk.sync()?;
            disk.write_at(size - END, &tail)?;
            disk.sync()?;
            disk.write_at(FIRST as u64, &head[FIRST..])?;
            disk.sync()?;
            disk.write_at(0, &head[..FIRST])?;
            disk.sync()
        };
        steps().context("cannot write the disk's partition table")
    }
}

/// Copies what of `bytes`, which begin at `offset`, falls into `end`, which begins at `start`.
fn copy(end: &mut [u8], start: u64, bytes: &[u8], offset: u64) {
    let from = offset.max(start);
    let to = (offset + bytes.len() as u64).min(start + end.len() as u64);
    if from < to {
        // Both differences are below the lengths of slices.
        let (place, source) = ((from - start) as usize, (from - offset) as usize);
        let length = (to - from) as usize;
        end[place..place + length].copy_from_slice(&bytes[source..source + length]);
    }
}

#[cfg(test)]
mod tests {
    use machinery::random::Random;
    use proptest::prelude::*;

    use super::*;
    use crate::disk::memory::Memory;

    const SIZE: usize = 4 << 20;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn what_is_written_in_any_pieces_is_on_the_disk(
            pieces in proptest::collection::vec((1usize..300_000, any::<bool>()), 1..40),
        ) {
            let mut disk = Memory::new(SIZE, 512);
            let mut expected = disk.bytes.clone();
            expected[..END as usize].fill(0);
            expected[SIZE - END as usize..].fill(0);
            let mut target = Target::begin(&mut disk).unwrap();
            let mut at = 0;
            for (length, zeros) in pieces {
                let length = length.min(SIZE - at);
                let bytes: Vec<u8> = (0..length).map(|n| if zeros { 0 } else { (n % 251) as u8 }).collect();
                target.write(at as u64, &bytes).unwrap();
                expected[at..at + length].copy_from_slice(&bytes);
                at += length;
            }
            target.finish(|_, _| Ok(())).unwrap();
            prop_assert!(disk.bytes == expected);
        }
    }

    #[test]
    fn an_image_that_is_too_large_is_refused() {
        let mut disk = Memory::new(SIZE, 512);
        let mut target = Target::begin(&mut disk).unwrap();
        target.write(SIZE as u64 - 10, &[1; 10]).unwrap();
        let error = target.write(SIZE as u64 - 9, &[1; 10]).unwrap_err().to_string();
        assert!(error.contains("larger than the disk"), "{error}");
        assert!(Target::begin(&mut Memory::new(1000, 512)).is_err());
    }

    #[test]
    fn a_power_cut_leaves_no_partition_table_or_all_of_the_image() {
        let mut image: Vec<u8> = (0..SIZE).map(|n| (n / 7) as u8).collect();
        image[510..512].copy_from_slice(&[0x55, 0xaa]);
        image[512..520].copy_from_slice(b"EFI PART");
        let deploy = |disk: &mut Memory| -> Result<()> {
            let mut target = Target::begin(disk)?;
            for (number, part) in image.chunks(1 << 20).enumerate() {
                target.write((number << 20) as u64, part)?;
            }
            target.finish(|_, _| Ok(()))
        };
        let random = Random::seeded(7);
        let (mut cuts, mut whole) = (0, false);
        while !whole {
            let mut disk = Memory::new(SIZE, 512);
            // What was on it before: an old table.
            disk.write_at(510, &[0x55, 0xaa]).unwrap();
            disk.write_at(512, b"EFI PART").unwrap();
            disk.sync().unwrap();
            disk.power = Some(cuts);
            whole = deploy(&mut disk).is_ok();
            let left = disk.after_power_cut(&random);
            let (first, rest) = left.split_at(FIRST);
            let valid = first[510..512] == [0x55, 0xaa] || &first[512..520] == b"EFI PART";
            // While the ends are being emptied, what is left of the old table is the old table's.
            let emptied = cuts >= 3;
            assert!(!emptied || !valid || *rest == image[FIRST..], "after {cuts} steps");
            cuts += 1;
        }
        assert!(cuts > 20);
    }
}
