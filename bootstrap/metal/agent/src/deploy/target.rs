//! The root disk while an image is written to it.
//!
//! Invariant: until [`Target::finish`] the disk has no valid partition table, neither an old one nor the image's: both ends of the disk
//! are zeroed first, and their new content is held back in memory.

use std::io;

use anyhow::{Context, Result, bail};

use crate::disk::Disk;

/// The bytes that are held back at each end. A partition table occupies the first 34 blocks and the last 33.
pub const END: u64 = 1 << 20;
/// The first bytes, which are written last: without them there is neither an MBR nor a GPT.
pub const FIRST: usize = 4096;
/// The shortest run of zeros that is zeroed instead of written.
const HOLE: usize = 64 << 10;

/// A disk to which an image is being written.
pub struct Target<'a> {
    disk: &'a mut dyn Disk,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Zeros that have not been written yet, as (offset, length).
    hole: (u64, u64),
}

/// The new content of both ends of a disk.
pub struct Ends<'a> {
    /// The content from the beginning on.
    pub head: &'a mut [u8],
    /// The content up to the end of the disk.
    pub tail: &'a mut [u8],
    /// The size of the disk in bytes.
    pub size: u64,
    /// The block size in bytes.
    pub block: u64,
}

impl<'a> Target<'a> {
    /// Zeroes both ends of the disk.
    ///
    /// # Errors
    /// The disk is too small or cannot be written.
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

    /// Writes a part of the image at `offset`.
    ///
    /// # Errors
    /// The image is larger than the disk, or the disk fails.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.fits(offset, bytes.len() as u64)?;
        let mut at = offset;
        for part in bytes.chunks(HOLE) {
            // Compared in words of 16 bytes, because every byte of every image passes here.
            if part.len() == HOLE && part.chunks_exact(16).all(|word| word == [0; 16]) {
                self.zero(at, HOLE as u64)?;
            } else {
                self.put(at, part)?;
            }
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Zeroes a part of the disk.
    ///
    /// # Errors
    /// The errors of [`Self::write`].
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

    /// Writes the pending zeros; both ends of the disk are zero already.
    pub fn fill(&mut self) -> Result<()> {
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

    /// Makes the image valid after `complete` has completed the ends. The order is: the middle of the disk, the tail, the head without
    /// its first bytes, and then those. The disk is synced between the steps.
    ///
    /// # Errors
    /// Errors of `complete` and of the disk.
    pub fn finish(mut self, complete: impl FnOnce(&mut Self, &mut Ends<'_>) -> Result<()>) -> Result<()> {
        self.fill()?;
        let (mut head, mut tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        let (size, block) = (self.disk.size(), self.disk.block());
        // The ends have been moved out of the target, so writes by `complete` reach only the middle of the disk.
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

/// Copies the part of `bytes` (which begin at `offset`) that overlaps `end` (which begins at `start`).
fn copy(end: &mut [u8], start: u64, bytes: &[u8], offset: u64) {
    let from = offset.max(start);
    let to = (offset + bytes.len() as u64).min(start + end.len() as u64);
    if from < to {
        // Both differences are less than the length of a slice, so the casts are exact.
        let (place, source) = ((from - start) as usize, (from - offset) as usize);
        let length = (to - from) as usize;
        end[place..place + length].copy_from_slice(&bytes[source..source + length]);
    }
}
