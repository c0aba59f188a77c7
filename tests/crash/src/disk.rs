//! An in-memory disk that records all accesses, fails on request, and computes the contents after a power
//! failure.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use machinery::random::Random;
use parking_lot::Mutex;
use redb::StorageBackend;

/// The unit that a disk writes atomically.
const SECTOR: usize = 512;
/// The unit in which a file system allocates space.
const BLOCK: u64 = 4096;

/// An access to the disk.
#[derive(Clone, Debug)]
pub enum Access {
    /// A write of bytes.
    Write {
        /// The offset of the write.
        offset: u64,
        /// The written bytes.
        data: Vec<u8>,
    },
    /// A change of the file's length.
    SetLen(u64),
    /// A sync, which makes everything before it durable.
    Sync,
}

/// How the disk fails, from a certain access on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The next sync fails, once; like a real disk, it loses the data that it could not write.
    Sync,
    /// No free blocks are left. Existing blocks can be overwritten.
    Full,
    /// No free blocks are left, and the file system writes each block to a new place, so that nothing can be
    /// written.
    FullForAll,
}

#[derive(Default)]
struct Content {
    base: Vec<u8>,
    live: Vec<u8>,
    log: Vec<Access>,
    blocks: BTreeSet<u64>,
    failure: Option<(usize, Failure)>,
    failed: bool,
    read: u64,
}

/// An in-memory disk. Clones share the contents.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Content>>);

impl Recorder {
    /// Creates a disk with the durable contents `image`. As in a sparse file, zero blocks take no space.
    pub fn new(image: Vec<u8>) -> Self {
        let blocks =
            image.chunks(BLOCK as usize).zip(0..).filter(|(block, _)| block.iter().any(|byte| *byte != 0));
        let blocks = blocks.map(|(_, number)| number).collect();
        Self(Arc::new(Mutex::new(Content { base: image.clone(), live: image, blocks, ..Content::default() })))
    }

    /// Lets `failure` begin at access number `at`.
    pub fn fail(&self, at: usize, failure: Failure) {
        self.0.lock().failure = Some((at, failure));
    }

    /// Ends the failure set by [`Recorder::fail`]; returns whether it occurred.
    pub fn mend(&self) -> bool {
        let mut content = self.0.lock();
        content.failure = None;
        content.failed
    }

    /// Returns whether a failure occurred.
    pub fn failed(&self) -> bool {
        self.0.lock().failed
    }

    /// Returns the number of accesses so far.
    pub fn accesses(&self) -> usize {
        self.0.lock().log.len()
    }

    /// Returns the number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.0.lock().read
    }

    /// Returns the accesses so far, and the initial contents.
    pub fn recording(&self) -> Recording {
        let content = self.0.lock();
        Recording { base: content.base.clone(), log: content.log.clone() }
    }
}

impl Content {
    fn failing(&self, failure: Failure) -> bool {
        self.failure.is_some_and(|(at, planned)| planned == failure && self.log.len() >= at)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let blocks = offset / BLOCK..(offset + data.len() as u64).div_ceil(BLOCK);
        let in_place = blocks.clone().all(|block| self.blocks.contains(&block));
        if self.failing(Failure::FullForAll) || self.failing(Failure::Full) && !in_place {
            self.failed = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.blocks.extend(blocks);
        put(&mut self.live, offset, data);
        self.log.push(Access::Write { offset, data: data.to_vec() });
        Ok(())
    }
}

fn put(image: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let start = usize::try_from(offset).unwrap();
    let end = start + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[start..end].copy_from_slice(data);
}

/// The disk as redb's storage backend.
struct Backend(Recorder);

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Backend")
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.0.lock().live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut content = self.0.0.lock();
        content.read += out.len() as u64;
        let start = usize::try_from(offset).unwrap();
        let found = content.live.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut content = self.0.0.lock();
        content.live.resize(usize::try_from(len).unwrap(), 0);
        content.blocks.retain(|block| block * BLOCK < len);
        content.log.push(Access::SetLen(len));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut content = self.0.0.lock();
        if content.failing(Failure::Sync) && !content.failed {
            content.failed = true;
            return Err(io::Error::other("planned failure of a sync"));
        }
        content.log.push(Access::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.0.lock().write(offset, data)
    }
}

impl store::Disk for Recorder {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(Backend(self.clone())))
    }

    fn name(&self) -> String {
        "the recorded disk".to_owned()
    }
}

/// The effect of a power failure on the accesses after the last sync.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// All accesses are lost.
    Lost,
    /// All accesses were written.
    Written,
    /// All accesses were written, except for the end of the last one.
    Torn,
    /// Each access was written, lost, or partly written sector by sector, independent of the others, since
    /// disks and kernels reorder writes.
    Scattered,
}

/// All accesses to a disk, and its initial contents.
pub struct Recording {
    base: Vec<u8>,
    log: Vec<Access>,
}

impl Recording {
    /// Returns the number of moments for a power failure: before each access, and after the last one.
    pub fn moments(&self) -> usize {
        self.log.len() + 1
    }

    /// Returns whether a power failure at this moment could lose anything.
    pub fn unsynced(&self, moment: usize) -> bool {
        moment > 0 && !matches!(self.log[moment - 1], Access::Sync)
    }

    /// Returns the contents after a power failure before access number `moment`.
    pub fn image(&self, moment: usize, cut: Cut, random: &Random) -> Vec<u8> {
        let synced = self.log[..moment].iter().rposition(|access| matches!(access, Access::Sync));
        let synced = synced.map_or(0, |last| last + 1);
        let mut image = self.base.clone();
        for access in &self.log[..synced] {
            apply(&mut image, access);
        }
        let pending = &self.log[synced..moment];
        for (index, access) in pending.iter().enumerate() {
            match cut {
                Cut::Lost => {}
                Cut::Torn if index + 1 == pending.len() => tear(&mut image, access, random),
                Cut::Written | Cut::Torn => apply(&mut image, access),
                Cut::Scattered => match random.number() % 3 {
                    0 => {}
                    1 => apply(&mut image, access),
                    _ => scatter(&mut image, access, random),
                },
            }
        }
        image
    }
}

fn apply(image: &mut Vec<u8>, access: &Access) {
    match access {
        Access::Write { offset, data } => put(image, *offset, data),
        Access::SetLen(len) => image.resize(usize::try_from(*len).unwrap(), 0),
        Access::Sync => {}
    }
}

fn tear(image: &mut Vec<u8>, access: &Access, random: &Random) {
    if let Access::Write { offset, data } = access {
        let written = usize::try_from(random.number() % data.len() as u64).unwrap();
        put(image, *offset, &data[..written]);
    }
}

fn scatter(image: &mut Vec<u8>, access: &Access, random: &Random) {
    if let Access::Write { offset, data } = access {
        for (index, sector) in data.chunks(SECTOR).enumerate() {
            if random.number().is_multiple_of(2) {
                put(image, offset + (index * SECTOR) as u64, sector);
            }
        }
    }
}
