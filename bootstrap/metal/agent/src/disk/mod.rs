//! The door to a disk.

mod device;
#[cfg(test)]
pub mod memory;

use std::io;

pub use device::BlockDevice;

/// What can be done with a disk. Offsets and lengths are bytes.
pub trait Disk: Send {
    /// How much it holds.
    fn size(&self) -> u64;

    /// Bytes of a block, as the disk counts.
    fn block(&self) -> u64;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// The disk's.
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`. They stay through a power cut after the next [`Disk::sync`] only.
    ///
    /// # Errors
    /// The disk's.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the bytes from `offset` on zeros, by the fastest way that the disk has.
    ///
    /// # Errors
    /// The disk's.
    fn zero(&mut self, offset: u64, length: u64) -> io::Result<()>;

    /// Everything that was written is on the disk when this returns.
    ///
    /// # Errors
    /// The disk's; what is on it is then not known.
    fn sync(&mut self) -> io::Result<()>;

    /// What is read from now on comes from the disk and not from the kernel's memory.
    ///
    /// # Errors
    /// The disk's.
    fn forget(&mut self) -> io::Result<()>;
}
