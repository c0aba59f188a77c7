//! Whether every page that the newest commit reaches is as it was written.
//!
//! redb keeps a checksum of each page in the page above it, and those of the two roots in a slot of the header, which has one, too. It
//! compares them when it opens a file after a crash, and not otherwise. So the file is shown to it as one that a crash left, and opening ends as soon
//! as the comparison has: nothing is written, and no other page is believed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use redb::{DatabaseError, StorageBackend};

use super::damage::{damaged, guarded};
use super::door::Disk;
use super::tables::builder;
use crate::error::EngineError;

/// Bytes of redb's header: its first fields, and two slots.
const HEADER: usize = 320;
/// What states the file is in; its bits are the next three.
const STATE: usize = 9;
const SECOND_SLOT: u8 = 1;
const RECOVERY: u8 = 2;
const TWO_PHASES: u8 = 4;
/// How the file is divided: bytes of a page, pages of a region's header, pages of a region.
const GEOMETRY: usize = 12;
const DIVISION: [u32; 3] = [4096, 0, 1 << 20];
/// Where the slots begin, and where their checksums are in them.
const SLOTS: [usize; 2] = [64, 192];
const SLOT_SUM: usize = 112;
/// How far redb says that it is when the pages of its newest commit are not those that were written, and when they are.
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

    /// Whether its last commit was synced before it became the newest, so that no crash can have torn it. redb does not look at the pages of such a
    /// file.
    pub(super) fn is_two_phase(&self) -> bool {
        self.0[STATE] & TWO_PHASES != 0
    }

    /// What does not fit.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        for (field, expected) in self.0[GEOMETRY..].chunks_exact(4).zip(DIVISION) {
            if field != expected.to_le_bytes() {
                return Err("its header says that it is divided in another way than it is");
            }
        }
        Ok(())
    }

    /// As a crash would have left it, and without the older commit: none to fall back to.
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

/// A file that is only read, with another header.
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

/// Reads every page of the newest commit. Nobody writes meanwhile.
///
/// # Errors
/// [`EngineError::Damaged`], or a disk that cannot be read.
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
