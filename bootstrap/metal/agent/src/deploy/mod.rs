//! Writes an image to the root disk.

pub mod checksum;
pub mod config_drive;
pub mod decode;
pub mod download;
pub mod hints;
pub mod partitions;
pub mod qcow2;
pub mod summed;
pub mod target;

use std::io::{self, Read};
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result, anyhow, bail};
use machinery::random::Random;

pub use checksum::{Checksum, is_url};
pub use config_drive::build as build_config_drive;
pub use download::{Fetched, Source};
pub use hints::choose;
pub use partitions::{Completed, EfiSystem};
pub use summed::Pieces;

use crate::disk::Disk;
use decode::{Format, Peeked, content, format, is_compressed};
use summed::Summed;
use target::Target;

/// The size of the pieces in which content is written.
const PIECE: usize = 2 << 20;
/// The number of buffered pieces between the thread that decompresses and the one that writes.
const PIECES: usize = 4;

/// The source of an image.
pub trait Image: Sync {
    /// Returns the pieces of the image from its beginning.
    fn open(&self) -> Pieces;

    /// Returns the length of the image in bytes, once it is known.
    fn total(&self) -> Option<u64>;

    /// Returns `length` bytes from `offset` on.
    ///
    /// # Errors
    /// The bytes cannot be read.
    fn range(&self, offset: u64, length: usize) -> Result<Vec<u8>>;
}

/// The parameters of a deployment.
pub struct Order<'a> {
    /// The expected checksum of the image's bytes as downloaded.
    pub checksum: &'a Checksum,
    /// `spec.image.format`; if empty, the format is recognised by the first bytes.
    pub format: &'a str,
    /// The content of the configuration drive, if there is one.
    pub drive: Option<&'a [u8]>,
    /// The source of the GUID of the drive's partition.
    pub random: &'a Random,
    /// Called with the bytes received and the total (0 if unknown); its error ends the work.
    pub progress: &'a (dyn Fn(u64, u64) -> Result<()> + Sync),
}

/// Writes an image to a disk.
///
/// # Errors
/// The image cannot be read, is damaged, too large, or has another checksum; or the disk fails. Until the last step of the write, the
/// disk then has no partition table.
pub fn write(disk: &mut dyn Disk, image: &dyn Image, order: &Order<'_>) -> Result<Completed> {
    let (mut summed, to_sum) = Summed::new(image.open());
    std::thread::scope(|scope| {
        let sum = scope.spawn(|| to_sum.sum(order.checksum));
        let target = content_to(disk, &mut summed, image, order)?;
        // The checksum covers the bytes behind the end of the compressed data, too.
        io::copy(&mut summed, &mut io::sink()).context("the image broke off")?;
        drop(summed);
        order.checksum.verify(sum.join().map_err(|_| anyhow!("the image could not be summed"))?)?;
        complete(target, order)
    })
}

/// Writes the content of an image to the disk, but for its ends.
fn content_to<'a>(
    disk: &'a mut dyn Disk,
    summed: &mut Summed,
    image: &dyn Image,
    order: &Order<'_>,
) -> Result<Target<'a>> {
    let peeked = Peeked::new(summed).context("the image does not come")?;
    if is_compressed(peeked.first()) {
        let unpacked = Peeked::new(content(peeked)?).context("the image cannot be unpacked")?;
        if format(unpacked.first(), order.format)? == Format::Qcow2 {
            bail!(
                "the image is a qcow2 that is compressed as a whole: give it as it is, or as a compressed raw image"
            );
        }
        let mut target = Target::begin(disk)?;
        copy(unpacked, &mut target, image, order)?;
        return Ok(target);
    }
    match format(peeked.first(), order.format)? {
        Format::Raw => {
            fits(image, disk)?;
            let mut target = Target::begin(disk)?;
            copy(peeked, &mut target, image, order)?;
            Ok(target)
        }
        Format::Qcow2 => {
            let map = qcow2::Map::read(|offset, length| image.range(offset, length), disk.size())?;
            let mut target = Target::begin(disk)?;
            map.write(Noted { image: peeked, at: 0, told: 0, of: image, order }, &mut target)?;
            Ok(target)
        }
    }
}

/// Adds the configuration drive, and makes the image valid.
fn complete(target: Target<'_>, order: &Order<'_>) -> Result<Completed> {
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

/// Reads in one thread, which decompresses, and writes in another.
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
                // The send fails if writing has failed.
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

/// A reader that reports the progress of reading.
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
