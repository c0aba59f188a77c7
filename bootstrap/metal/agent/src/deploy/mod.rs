//! Writes an image to the root disk.

mod checksum;
mod config_drive;
mod decode;
mod download;
mod hints;
mod partitions;
mod qcow2;
mod target;

use std::io::{self, Read};
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result, bail};
use machinery::random::Random;

pub use checksum::{Checksum, is_url};
pub use config_drive::build as build_config_drive;
pub use download::{Fetched, Source};
pub use hints::choose;
pub use partitions::{Completed, EfiSystem};

use crate::disk::Disk;
use checksum::Hasher;
use decode::{Format, Peeked, content, format, is_compressed};
use target::Target;

/// Content is written in pieces of this size.
const PIECE: usize = 2 << 20;
/// Pieces between the one who unpacks and the one who writes.
const PIECES: usize = 4;

/// Where an image comes from.
pub trait Image: Sync {
    /// Its bytes from the beginning on.
    fn open(&self) -> Box<dyn Read + Send>;

    /// How many those are, once that is known.
    fn total(&self) -> Option<u64>;

    /// Some of its bytes.
    ///
    /// # Errors
    /// They cannot be had.
    fn range(&self, offset: u64, length: usize) -> Result<Vec<u8>>;
}

/// What is to be written.
pub struct Order<'a> {
    /// The sum of the image's bytes as they come.
    pub checksum: &'a Checksum,
    /// `spec.image.format`; empty: told by the first bytes.
    pub format: &'a str,
    /// The configuration drive.
    pub drive: Option<&'a [u8]>,
    /// For the name of the drive's partition.
    pub random: &'a Random,
    /// Called with the bytes that have come and those that there are (0: not known); an error ends the work.
    pub progress: &'a (dyn Fn(u64, u64) -> Result<()> + Sync),
}

/// Writes an image to a disk.
///
/// # Errors
/// The image cannot be had, is damaged or too large, has another checksum; the disk refuses. The disk then has no partition table.
pub fn write(disk: &mut dyn Disk, image: &dyn Image, order: &Order<'_>) -> Result<Completed> {
    let mut summed = Summed { image: image.open(), hasher: order.checksum.hasher() };
    let peeked = Peeked::new(&mut summed).context("the image does not come")?;
    let compressed = is_compressed(peeked.first());
    let target = if compressed {
        let unpacked = Peeked::new(content(peeked)?).context("the image cannot be unpacked")?;
        if format(unpacked.first(), order.format)? == Format::Qcow2 {
            bail!(
                "the image is a qcow2 that is compressed as a whole: give it as it is, or as a compressed raw image"
            );
        }
        let mut target = Target::begin(disk)?;
        copy(unpacked, &mut target, image, order)?;
        target
    } else {
        match format(peeked.first(), order.format)? {
            Format::Raw => {
                fits(image, disk)?;
                let mut target = Target::begin(disk)?;
                copy(peeked, &mut target, image, order)?;
                target
            }
            Format::Qcow2 => {
                let map = qcow2::Map::read(|offset, length| image.range(offset, length), disk.size())?;
                let mut target = Target::begin(disk)?;
                map.write(Noted { image: peeked, at: 0, told: 0, of: image, order }, &mut target)?;
                target
            }
        }
    };
    // Bytes behind the end of what was unpacked are part of the sum.
    io::copy(&mut summed, &mut io::sink()).context("the image broke off")?;
    order.checksum.verify(summed.hasher)?;
    let mut completed = Completed::default();
    target.finish(|target, ends| {
        completed = partitions::complete(ends, order.drive.map(|drive| drive.len() as u64), order.random)?;
        match (completed.added, order.drive) {
            (Some(start), Some(drive)) => target.write(start, drive),
            _ => Ok(()),
        }
    })?;
    Ok(completed)
}

fn fits(image: &dyn Image, disk: &dyn Disk) -> Result<()> {
    match image.total() {
        Some(total) if total > disk.size() => bail!(
            "the image has {total} bytes, and the disk holds {}: choose a larger one by spec.rootDeviceHints.minSizeGigabytes",
            disk.size()
        ),
        _ => Ok(()),
    }
}

/// Reads in one thread, which sums and unpacks, and writes in another.
fn copy(
    content: impl Read + Send,
    target: &mut Target<'_>,
    image: &dyn Image,
    order: &Order<'_>,
) -> Result<()> {
    let mut noted = Noted { image: content, at: 0, told: 0, of: image, order };
    let (sender, pieces) = sync_channel::<io::Result<Vec<u8>>>(PIECES);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            loop {
                let mut piece = Vec::with_capacity(PIECE);
                let read = noted.by_ref().take(PIECE as u64).read_to_end(&mut piece);
                if matches!(read, Ok(0)) {
                    return;
                }
                let failed = read.is_err();
                // Nobody takes it when writing has failed.
                if sender.send(read.map(|_| piece)).is_err() || failed {
                    return;
                }
            }
        });
        let mut offset = 0;
        for piece in pieces {
            let piece = piece.context("the image broke off, or is damaged")?;
            target.write(offset, &piece)?;
            offset += piece.len() as u64;
        }
        Ok(())
    })
}

/// Tells how far reading has come.
struct Noted<'a, R> {
    image: R,
    at: u64,
    told: u64,
    of: &'a dyn Image,
    order: &'a Order<'a>,
}

impl<R: Read> Read for Noted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.image.read(buffer)?;
        self.at += count as u64;
        if self.at - self.told >= PIECE as u64 {
            self.told = self.at;
            (self.order.progress)(self.at, self.of.total().unwrap_or(0)).map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// Sums what is read.
struct Summed {
    image: Box<dyn Read + Send>,
    hasher: Hasher,
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.image.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
