//! A disk in memory with simulated power cuts, for tests.

use std::io;

use machinery::random::Random;

use agent::testing::Disk;

/// A disk in memory with simulated power cuts.
pub struct Memory {
    /// The content that a reader sees.
    pub bytes: Vec<u8>,
    block: u64,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
    /// The number of writes and syncs after which the power fails.
    pub power: Option<u64>,
}

impl Memory {
    /// A disk with old, non-zero data.
    pub fn new(size: usize, block: u64) -> Self {
        let bytes: Vec<u8> = (0..size).map(|at| (at / 512) as u8 | 1).collect();
        Self { durable: bytes.clone(), bytes, block, unsynced: Vec::new(), power: None }
    }

    /// Returns the content after a power cut: everything synced, and a random part of the rest.
    pub fn after_power_cut(&self, random: &Random) -> Vec<u8> {
        let mut left = self.durable.clone();
        for (offset, bytes) in &self.unsynced {
            // Disks write whole blocks, in any order.
            for (number, block) in bytes.chunks(512).enumerate() {
                if random.fraction() < 0.5 {
                    let at = offset + number * 512;
                    left[at..at + block.len()].copy_from_slice(block);
                }
            }
        }
        left
    }

    fn step(&mut self) -> io::Result<()> {
        match &mut self.power {
            Some(0) => Err(io::Error::other("no power")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Disk for Memory {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn block(&self) -> u64 {
        self.block
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let offset = offset as usize;
        let Some(bytes) = self.bytes.get(offset..offset + buffer.len()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // A write that fails by a power cut may still be stored in part.
        self.unsynced.push((offset as usize, bytes.to_vec()));
        self.step()?;
        let offset = offset as usize;
        let Some(place) = self.bytes.get_mut(offset..offset + bytes.len()) else {
            self.unsynced.pop();
            return Err(io::ErrorKind::StorageFull.into());
        };
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn zero(&mut self, offset: u64, length: u64) -> io::Result<()> {
        self.write_at(offset, &vec![0; length as usize])
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?;
        self.unsynced.clear();
        self.durable.clone_from(&self.bytes);
        Ok(())
    }

    fn forget(&mut self) -> io::Result<()> {
        Ok(())
    }
}
