//! Verifies all pages that the newest commit reaches.
//!
//! redb keeps the checksum of each page in the page above it, and the checksums of the two roots in a slot of the
//! header, which has a checksum, too. It verifies them only when it opens a file after a crash. So this module presents
//! the file to redb as one that a crash left, and aborts the opening after the verification. Nothing is written, and no
//! unverified page is used.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::{DatabaseError, StorageBackend};

use super::backend::Disk;
use super::damage::{damaged, guarded};
use super::tables::builder;
use crate::error::EngineError;

/// Size of redb's header in bytes: its first fields and two slots.
const HEADER: usize = 320;
/// Offset of the state byte of the file. The next three constants are its bits.
const STATE: usize = 9;
const SECOND_SLOT: u8 = 1;
const RECOVERY: u8 = 2;
const TWO_PHASES: u8 = 4;
/// Offset of the division of the file: bytes of a page, pages of a region's header, pages of a region.
const GEOMETRY: usize = 12;
const DIVISION: [u32; 3] = [4096, 0, 1 << 20];
/// Offsets of the slots, and the offset of the checksum in a slot.
const SLOTS: [usize; 2] = [64, 192];
const SLOT_SUM: usize = 112;
/// The progress that redb reports if the pages of its newest commit do not match their checksums, and if they do.
const WORSE: f64 = 0.3;
const VERIFIED: f64 = 0.6;

/// The header of a file.
pub(super) struct Header([u8; HEADER]);

impl Header {
    pub(super) fn read(backend: &dyn StorageBackend) -> io::Result<Self> {
        let mut header = [0; HEADER];
        backend.read(0, &mut header)?;
        Ok(Self(header))
    }

    /// Returns whether the last commit was synced before it became the newest, so that no crash can have damaged it.
    /// redb does not verify the pages of such a file.
    pub(super) fn is_two_phase(&self) -> bool {
        self.0[STATE] & TWO_PHASES != 0
    }

    /// Checks the division of the file. Returns a description of the mismatch.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        for (field, expected) in self.0[GEOMETRY..].chunks_exact(4).zip(DIVISION) {
            if field != expected.to_le_bytes() {
                return Err("its header does not match its layout");
            }
        }
        Ok(())
    }

    /// Returns the header as after a crash and without the older commit, so that redb cannot fall back to it.
    fn after_crash(mut self) -> Vec<u8> {
        let newest = self.0[STATE] & SECOND_SLOT;
        self.0[STATE] = newest | RECOVERY;
        let older = SLOTS[usize::from(newest ^ SECOND_SLOT)];
        for byte in &mut self.0[older + SLOT_SUM..older + SLOT_SUM + 16] {
            *byte ^= 0xff;
        }
        self.0.to_vec()
    }
}

/// A read-only view of a file with another header.
struct View {
    inner: Box<dyn StorageBackend>,
    header: Mutex<Vec<u8>>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

impl StorageBackend for View {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)?;
        let header = self.header.lock();
        if let Some(seen) = usize::try_from(offset).ok().and_then(|offset| header.get(offset..)) {
            let length = seen.len().min(out.len());
            out[..length].copy_from_slice(&seen[..length]);
        }
        Ok(())
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut header = self.header.lock();
        if offset == 0 && data.len() >= HEADER {
            *header = data.to_vec();
            return Ok(());
        }
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

/// Verifies all pages of the newest commit. The caller must prevent writes meanwhile.
///
/// # Errors
/// [`EngineError::Damaged`], or an error of reading the disk.
pub(super) fn pages(
    disk: &dyn Disk,
    inner: Box<dyn StorageBackend>,
    header: Header,
) -> Result<(), EngineError> {
    header.check().map_err(|reason| damaged(disk, reason))?;
    let view = View { inner, header: Mutex::new(header.after_crash()) };
    let (worse, verified) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let mut builder = builder();
    builder.set_repair_callback({
        let (worse, verified) = (worse.clone(), verified.clone());
        move |session| {
            let progress = session.progress();
            if progress >= WORSE {
                let reached = if progress >= VERIFIED { &verified } else { &worse };
                reached.store(true, Ordering::Relaxed);
                session.abort();
            }
        }
    });
    let opened = guarded(disk, "read", || match builder.create_with_backend(view) {
        Ok(_) | Err(DatabaseError::RepairAborted) => Ok(()),
        Err(error) => Err(error.into()),
    });
    opened?;
    if worse.load(Ordering::Relaxed) || !verified.load(Ordering::Relaxed) {
        return Err(damaged(disk, "the checksum of a page does not match"));
    }
    Ok(())
}
