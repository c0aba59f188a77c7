//! The interface to a disk.

pub mod device;

use std::io;

pub use device::BlockDevice;

/// The operations on a disk. Offsets and lengths are in bytes.
pub trait Disk: Send {
    /// Returns the size of the disk.
    fn size(&self) -> u64;

    /// Returns the size of a block.
    fn block(&self) -> u64;

    /// Fills `buffer` with the content from `offset` on.
    ///
    /// # Errors
    /// Errors of the disk.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. They survive a power cut only after the next [`Disk::sync`].
    ///
    /// # Errors
    /// Errors of the disk.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Zeroes `length` bytes from `offset` on, by the fastest way that the disk supports.
    ///
    /// # Errors
    /// Errors of the disk.
    fn zero(&mut self, offset: u64, length: u64) -> io::Result<()>;

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// Errors of the disk, after which its content is unknown.
    fn sync(&mut self) -> io::Result<()>;

    /// Drops cached content, so that later reads come from the disk itself.
    ///
    /// # Errors
    /// Errors of the disk.
    fn forget(&mut self) -> io::Result<()>;
}
