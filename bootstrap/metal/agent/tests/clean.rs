//! Tests of `clean`.

use std::io;

use crate::metal_agent::memory::Memory;
use agent::testing::Disk;
use agent::testing::{Samples, clean};
use agent_protocol::Erase;
use anyhow::Result;

const SIZE: usize = 32 << 20;
const PARTITIONS: [(u64, u64); 3] = [(1 << 20, 8 << 20), (9 << 20, 512), (20 << 20, 64 << 20)];

fn nothing(_: u64, _: u64) -> Result<()> {
    Ok(())
}

#[test]
fn ends_of_disks_and_partitions() {
    let mut disk = Memory::new(SIZE, 512);
    let before = disk.bytes.clone();
    clean(&mut disk, &PARTITIONS, Erase::Metadata, &nothing).unwrap();
    let empty = |from: usize, to: usize| disk.bytes[from..to].iter().all(|byte| *byte == 0);
    assert!(
        empty(0, 3 << 20)
            && empty(7 << 20, (9 << 20) + 512)
            && empty(20 << 20, 22 << 20)
            && empty(30 << 20, SIZE)
    );
    for (from, to) in [(3 << 20, 7 << 20), ((9 << 20) + 512, 20 << 20), (22 << 20, 30 << 20)] {
        assert!(disk.bytes[from..to] == before[from..to]);
    }
}

#[test]
fn everything() {
    let mut disk = Memory::new(SIZE, 512);
    clean(&mut disk, &PARTITIONS, Erase::Everything, &nothing).unwrap();
    assert!(disk.bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn what_a_disk_held_is_known_again() {
    let mut disk = Memory::new(SIZE, 512);
    let samples = Samples::take(&mut disk).unwrap();
    assert!(samples.are_gone(&mut disk).unwrap_err().to_string().contains("still holds"));
    // An erased disk may contain anything.
    disk.bytes.fill(0xff);
    samples.are_gone(&mut disk).unwrap();
    let nothing = Samples::take(&mut disk).unwrap();
    nothing.are_gone(&mut disk).unwrap();
}

/// A disk that reports success without zeroing anything.
struct Liar(Memory);

impl Disk for Liar {
    fn size(&self) -> u64 {
        self.0.size()
    }
    fn block(&self) -> u64 {
        self.0.block()
    }
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }
    fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
    fn zero(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn forget(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_lies_and_one_that_fails() {
    for erase in [Erase::Metadata, Erase::Everything] {
        let error = clean(&mut Liar(Memory::new(SIZE, 512)), &[], erase, &nothing).unwrap_err().to_string();
        assert!(error.contains("still holds data at 0"), "{error}");
        let mut disk = Memory::new(SIZE, 512);
        disk.power = Some(0);
        assert!(clean(&mut disk, &[], erase, &nothing).is_err());
        let ended = clean(&mut Memory::new(SIZE, 512), &[], erase, &|_, _| anyhow::bail!("ended"));
        assert!(ended.is_err());
    }
}
