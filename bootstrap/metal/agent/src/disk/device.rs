//! A disk of the machine as a block device.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};

use super::Disk;

/// The size of the pieces in which zeros are written if the kernel has no faster way.
const ZEROS: usize = 1 << 20;

/// A block device that is opened exclusively.
pub struct BlockDevice {
    file: File,
    size: u64,
    block: u64,
}

impl BlockDevice {
    /// Opens the device at `path` exclusively.
    ///
    /// # Errors
    /// The device does not exist, is in use, or has no medium.
    pub fn open(path: &Path, block: u64) -> Result<Self> {
        let flags = OFlags::EXCL.bits().cast_signed();
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
        let mut file = opened.with_context(|| format!("cannot open {} for itself alone", path.display()))?;
        let size = file
            .seek(SeekFrom::End(0))
            .with_context(|| format!("cannot ask {} for its size", path.display()))?;
        ensure!(size > 0, "{} has no medium", path.display());
        Ok(Self { file, size, block })
    }
}

impl Disk for BlockDevice {
    fn size(&self) -> u64 {
        self.size
    }

    fn block(&self) -> u64 {
        self.block
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn zero(&mut self, mut offset: u64, length: u64) -> io::Result<()> {
        let end = offset + length;
        let whole_blocks = offset.is_multiple_of(self.block) && length.is_multiple_of(self.block);
        // A hole reads as zeros, and a solid state disk discards it; if holes are not supported, the kernel writes zeros itself.
        for way in [FallocateFlags::PUNCH_HOLE, FallocateFlags::ZERO_RANGE] {
            if whole_blocks
                && length > 0
                && fallocate(&self.file, way | FallocateFlags::KEEP_SIZE, offset, length).is_ok()
            {
                return Ok(());
            }
        }
        let zeros = vec![0; ZEROS];
        while offset < end {
            let count = usize::try_from(end - offset).unwrap_or(ZEROS).min(ZEROS);
            self.write_at(offset, &zeros[..count])?;
            offset += count as u64;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn forget(&mut self) -> io::Result<()> {
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }
}
