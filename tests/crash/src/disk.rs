//! A disk in memory that records what is done to it, fails when told, and shows what a power cut would leave.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use machinery::random::Random;
use parking_lot::Mutex;
use redb::StorageBackend;

/// The unit that a disk writes whole or not at all.
const SECTOR: usize = 512;
/// The unit in which a file system takes space.
const BLOCK: u64 = 4096;

/// One thing done to the disk.
#[derive(Clone, Debug)]
pub enum Access {
    /// Bytes were written.
    Write {
        /// Where.
        offset: u64,
        /// What.
        data: Vec<u8>,
    },
    /// The length was set.
    SetLen(u64),
    /// Everything before became durable.
    Sync,
}

/// How the disk misbehaves, from one access on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The first sync from there on fails, once; a disk like this forgets what it could not write.
    Sync,
    /// There are no free blocks. What has a block can be overwritten.
    Full,
    /// There are no free blocks, and the file system writes each block to a new place: nothing can be written.
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

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Mutex<Content>>);

impl Recorder {
    /// A disk that holds `image`, durably. As in a sparse file, zeros take no block.
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

    /// Ends what [`Recorder::fail`] began, and tells whether it was met.
    pub fn mend(&self) -> bool {
        let mut content = self.0.lock();
        content.failure = None;
        content.failed
    }

    /// Whether a failure was met.
    pub fn failed(&self) -> bool {
        self.0.lock().failed
    }

    /// How much was done so far.
    pub fn accesses(&self) -> usize {
        self.0.lock().log.len()
    }

    /// How many bytes were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.0.lock().read
    }

    /// What was done so far, and on what.
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

/// redb's side of the disk.
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

/// What becomes of the accesses that no sync has covered when the power goes.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// All are lost.
    Lost,
    /// All were written.
    Written,
    /// All were written except for the end of the last one.
    Torn,
    /// Each on its own was written, lost, or written in some of its sectors: disks and kernels reorder.
    Scattered,
}

/// Everything done to a disk, and what it held before.
pub struct Recording {
    base: Vec<u8>,
    log: Vec<Access>,
}

impl Recording {
    /// How many moments there are at which the power can go: before each access, and after the last.
    pub fn moments(&self) -> usize {
        self.log.len() + 1
    }

    /// Whether there is anything at this moment that a cut could lose.
    pub fn unsynced(&self, moment: usize) -> bool {
        moment > 0 && !matches!(self.log[moment - 1], Access::Sync)
    }

    /// The image that a power cut before access number `moment` leaves.
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
