//! A disk for the journal that stops the pivot at a given record.

use std::io;

use pivot::journal::{Disk, MemoryDisk};

/// The record at which the pivot is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Number of the record, counted from 1 in this run.
    pub record: usize,
    /// Whether the record is written before the failure.
    pub written: bool,
}

/// A disk that fails at a record.
pub struct FailingDisk {
    disk: MemoryDisk,
    stop: Option<Stop>,
    records: usize,
}

impl FailingDisk {
    /// Fails at `stop`.
    pub fn new(disk: MemoryDisk, stop: Option<Stop>) -> Self {
        Self { disk, stop, records: 0 }
    }
}

impl Disk for FailingDisk {
    fn path(&self) -> String {
        self.disk.path()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        self.disk.read()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.records += 1;
        match self.stop {
            Some(stop) if stop.record == self.records => {
                if stop.written {
                    self.disk.append(bytes)?;
                }
                Err(io::Error::new(io::ErrorKind::StorageFull, "killed here"))
            }
            _ => self.disk.append(bytes),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.disk.truncate(length)
    }

    fn set_aside(&mut self) -> io::Result<()> {
        self.disk.set_aside()
    }
}
