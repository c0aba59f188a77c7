//! Erases disks.

use std::io;

use agent_protocol::Erase;
use anyhow::{Context, Result, ensure};

use crate::disk::Disk;

/// The bytes at each end of a disk or partition that may contain partition tables and the signatures of file systems, RAID and LVM.
const END: u64 = 2 << 20;
/// The size of a step in which a disk is zeroed; progress is reported between the steps.
const STEP: u64 = 1 << 30;
/// The number of bytes that are read back at once.
const LOOK: usize = 1 << 20;
/// The number of places that are checked after a whole disk was erased.
const LOOKS: u64 = 64;
/// The size of a sample in bytes.
const SAMPLE: u64 = 4096;

/// Zeroes a disk; `partitions` are the start and length of each partition. `progress` is called with the bytes done and the total; its
/// error ends the work.
///
/// # Errors
/// The disk fails, or still has data where it must be zero.
pub fn clean(
    disk: &mut dyn Disk,
    partitions: &[(u64, u64)],
    erase: Erase,
    progress: &dyn Fn(u64, u64) -> Result<()>,
) -> Result<()> {
    let ranges = match erase {
        Erase::Metadata => metadata(disk.size(), disk.block(), partitions),
        Erase::Everything => vec![(0, disk.size())],
    };
    let total = ranges.iter().map(|(_, length)| length).sum();
    let mut done = 0;
    for &(start, length) in &ranges {
        let mut at = start;
        while at < start + length {
            let step = STEP.min(start + length - at);
            disk.zero(at, step).with_context(|| format!("cannot empty the disk at {at}"))?;
            at += step;
            done += step;
            progress(done, total)?;
        }
    }
    disk.sync().context("the disk does not keep what is written")?;
    disk.forget().context("cannot read the disk anew")?;
    for (start, length) in looks(&ranges, erase) {
        verify(disk, start, length)?;
    }
    Ok(())
}

/// Returns both ends of the disk and of each partition as (start, length), in whole blocks, in order and without overlaps.
fn metadata(size: u64, block: u64, partitions: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let areas = [(0, size)].into_iter().chain(partitions.iter().copied());
    for (start, length) in areas {
        let end = start.saturating_add(length).min(size);
        for (from, to) in
            [(start, start.saturating_add(END).min(end)), (end.saturating_sub(END).max(start), end)]
        {
            ranges.push((from / block * block, to.next_multiple_of(block).min(size)));
        }
    }
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ if from < to => merged.push((from, to)),
            _ => {}
        }
    }
    merged.into_iter().map(|(from, to)| (from, to - from)).collect()
}

/// Returns the ranges to check: all zeroed ranges, or, if the whole disk was zeroed, places spread over it and its end.
fn looks(ranges: &[(u64, u64)], erase: Erase) -> Vec<(u64, u64)> {
    if erase == Erase::Metadata {
        return ranges.to_vec();
    }
    let whole: u64 = ranges.iter().map(|(_, length)| length).sum();
    let length = (LOOK as u64).min(whole);
    (0..=LOOKS)
        .map(|number| ((whole - length) / LOOKS * number, length))
        .chain([(whole - length, length)])
        .collect()
}

/// Samples of a disk before its own erase command. Afterwards the content is undefined, but it must differ from the samples.
pub struct Samples(Vec<(u64, Vec<u8>)>);

impl Samples {
    /// Takes samples of the disk. Samples in which all bytes are equal are left out.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub fn take(disk: &mut dyn Disk) -> Result<Self> {
        let length = SAMPLE.next_multiple_of(disk.block()).min(disk.size());
        let mut samples = Vec::new();
        for number in 0..=LOOKS {
            let at = (disk.size() - length) / LOOKS * number / disk.block() * disk.block();
            let content = read(disk, at, usize::try_from(length)?)?;
            if content.iter().any(|byte| *byte != content[0]) {
                samples.push((at, content));
            }
        }
        Ok(Self(samples))
    }

    /// Checks that none of the samples is still on the disk.
    ///
    /// # Errors
    /// A sample is still there (with its offset), or the disk cannot be read.
    pub fn are_gone(&self, disk: &mut dyn Disk) -> Result<()> {
        disk.forget().context("cannot read the disk anew")?;
        for (at, before) in &self.0 {
            ensure!(
                read(disk, *at, before.len())? != *before,
                "the disk still holds what it held at {at}, which it said to have erased"
            );
        }
        Ok(())
    }
}

fn read(disk: &mut dyn Disk, at: u64, length: usize) -> Result<Vec<u8>> {
    let mut content = vec![0; length];
    disk.read_at(at, &mut content).with_context(|| format!("cannot read the disk at {at}"))?;
    Ok(content)
}

fn verify(disk: &mut dyn Disk, start: u64, length: u64) -> Result<()> {
    let (mut at, end) = (start, start + length);
    let mut buffer = vec![0; LOOK];
    while at < end {
        let count = usize::try_from(end - at)?.min(LOOK);
        let read: io::Result<()> = disk.read_at(at, &mut buffer[..count]);
        read.with_context(|| format!("cannot read the disk back at {at}"))?;
        ensure!(
            buffer[..count].iter().all(|byte| *byte == 0),
            "the disk still holds data at {at}, which it said to have emptied"
        );
        at += count as u64;
    }
    Ok(())
}
