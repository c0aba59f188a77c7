//! Adapts the partition table of an image to a larger disk: GPT (UEFI specification, 5.3) and MBR.

use anyhow::{Context, Result, bail, ensure};
use machinery::random::Random;

use super::target::{END, Ends};

/// The first bytes of the header of a GPT.
pub const SIGNATURE: &[u8] = b"EFI PART";
/// The size of the header in bytes.
pub const HEADER: usize = 92;
/// The alignment of partitions, as all partitioning tools use it.
const ALIGNMENT: u64 = 1 << 20;
/// The partition type "EFI system partition", in the byte order on the disk.
pub const EFI_SYSTEM: [u8; 16] =
    guid(0xc12a_7328, 0xf81f, 0x11d2, [0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b]);
/// The partition type "Microsoft basic data", which FAT file systems have.
pub const BASIC_DATA: [u8; 16] =
    guid(0xebd0_a0a2, 0xb9e5, 0x4433, [0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7]);
/// The type of a FAT partition in an MBR.
pub const MBR_FAT: u8 = 0x0c;
/// The type of the MBR partition that protects a GPT.
pub const MBR_GPT: u8 = 0xee;

const fn guid(a: u32, b: u16, c: u16, rest: [u8; 8]) -> [u8; 16] {
    let (a, b, c, r) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes(), rest);
    [a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]]
}

/// The result of completing a table.
#[derive(Debug, Default, PartialEq)]
pub struct Completed {
    /// The offset in bytes of the added partition, if one was added.
    pub added: Option<u64>,
    /// The EFI system partition, if the image has one.
    pub efi_system: Option<EfiSystem>,
}

/// The EFI system partition.
#[derive(Clone, Debug, PartialEq)]
pub struct EfiSystem {
    /// The number of the partition, starting with 1.
    pub number: u32,
    /// The first block.
    pub start: u64,
    /// The number of blocks.
    pub length: u64,
    /// The unique GUID of the partition.
    pub guid: [u8; 16],
}

/// Moves the backup of a GPT to the end of the disk, and, if `bytes` is given, adds a partition of that size at the end of the disk.
///
/// # Errors
/// The image has no table or no room for the partition; its table is damaged, or made for another block size.
pub fn complete(ends: &mut Ends<'_>, bytes: Option<u64>, random: &Random) -> Result<Completed> {
    let block = usize::try_from(ends.block)?;
    if ends.head.get(block..block + SIGNATURE.len()) == Some(SIGNATURE) {
        return gpt(ends, block, bytes, random);
    }
    for other in [512, 4096] {
        ensure!(
            ends.head.get(other..other + SIGNATURE.len()) != Some(SIGNATURE),
            "the image's partition table is made for blocks of {other} bytes, and the disk's have {block}: take an image for such disks"
        );
    }
    let Some(bytes) = bytes else { return Ok(Completed::default()) };
    let entries = 446..510;
    let has_table =
        ends.head[510..512] == [0x55, 0xaa] && ends.head[entries].chunks_exact(16).any(|entry| entry[4] != 0);
    ensure!(
        has_table,
        "the image has no partition table, which the configuration drive needs: take an image of a whole disk, or leave out user, meta and network data"
    );
    Ok(Completed { added: Some(mbr(ends, bytes)?), efi_system: None })
}

/// Returns the offset of a partition of `bytes` that ends before `limit` and before the end of the disk that is written last.
fn place(ends: &Ends<'_>, limit: u64, bytes: u64) -> Result<u64> {
    let end = limit.min(ends.size - END);
    let start = end.checked_sub(bytes).context("the disk is too small for the configuration drive")?;
    Ok(start / ALIGNMENT * ALIGNMENT)
}

fn mbr(ends: &mut Ends<'_>, bytes: u64) -> Result<u64> {
    // An MBR counts blocks in 32 bits.
    let start = place(ends, u64::from(u32::MAX) * ends.block, bytes)?;
    let number = |entry: &[u8], at: usize| {
        u64::from(u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]))
    };
    let mut free = None;
    for at in (446..510).step_by(16) {
        let entry = &ends.head[at..at + 16];
        if entry[4] == 0 {
            free = free.or(Some(at));
        } else {
            ensure!(
                (number(entry, 8) + number(entry, 12)) * ends.block <= start,
                "the image leaves no room for the configuration drive at the end of the disk"
            );
        }
    }
    let at = free.context("the image's MBR has four partitions, and the configuration drive needs one: take an image with a GPT")?;
    let (first, length) = (u32::try_from(start / ends.block)?, u32::try_from(bytes / ends.block)?);
    let entry = &mut ends.head[at..at + 16];
    entry.copy_from_slice(&[0, 0xfe, 0xff, 0xff, MBR_FAT, 0xfe, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&length.to_le_bytes());
    Ok(start)
}

/// The header and the entries of a GPT.
pub struct Table {
    header: Vec<u8>,
    entries: Vec<u8>,
    entry: usize,
}

fn gpt(ends: &mut Ends<'_>, block: usize, bytes: Option<u64>, random: &Random) -> Result<Completed> {
    let mut table = Table::read(ends.head, block)?;
    let blocks = ends.size / ends.block;
    let array = table.entries.len().next_multiple_of(block);
    let array_blocks = (array / block) as u64;
    let last = blocks - 1;
    let last_usable = last - array_blocks - 1;
    let efi_system = table.efi_system();
    let mut added = None;
    if let Some(bytes) = bytes {
        let start = place(ends, (last_usable + 1) * ends.block, bytes)?;
        table.add(start / ends.block, bytes / ends.block, random)?;
        added = Some(start);
    }
    table.set(48, last_usable);
    let entries_sum = crc32fast::hash(&table.entries);
    table.header[88..92].copy_from_slice(&entries_sum.to_le_bytes());
    let first_array = table.get(72);
    let primary = table.header(1, last, first_array);
    let backup = table.header(last, 1, last - array_blocks);
    ends.head[block..block + primary.len()].copy_from_slice(&primary);
    let at = usize::try_from(first_array)? * block;
    ends.head[at..at + table.entries.len()].copy_from_slice(&table.entries);
    let end = ends.tail.len();
    ends.tail[end - block..].fill(0);
    ends.tail[end - block..end - block + backup.len()].copy_from_slice(&backup);
    let at = end - block - array;
    ends.tail[at..end - block].fill(0);
    ends.tail[at..at + table.entries.len()].copy_from_slice(&table.entries);
    protect(ends.head, last);
    Ok(Completed { added, efi_system })
}

/// Extends the protective MBR partition over the whole disk, as partitioning tools require. An MBR with further partitions stays
/// unchanged.
fn protect(head: &mut [u8], last: u64) {
    let alone = head[446 + 4] == MBR_GPT && head[462..510].iter().all(|byte| *byte == 0);
    if alone {
        let length = u32::try_from(last).unwrap_or(u32::MAX);
        head[446 + 12..446 + 16].copy_from_slice(&length.to_le_bytes());
    }
}

impl Table {
    /// Reads the table in the head of a disk.
    ///
    /// # Errors
    /// The table is damaged.
    pub fn read(head: &[u8], block: usize) -> Result<Self> {
        let damaged = || "the image's partition table (GPT) is damaged: make the image anew";
        let header = head.get(block..block + HEADER).with_context(damaged)?.to_vec();
        let length = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        ensure!(
            length as usize == HEADER,
            "the image's GPT has a header of {length} bytes, which this version does not know"
        );
        let mut summed = header.clone();
        summed[16..20].fill(0);
        ensure!(crc32fast::hash(&summed).to_le_bytes() == header[16..20], damaged());
        let mut table = Self { header, entries: Vec::new(), entry: 0 };
        let number = |at: usize| {
            u64::from(u32::from_le_bytes([
                table.header[at],
                table.header[at + 1],
                table.header[at + 2],
                table.header[at + 3],
            ]))
        };
        let (count, entry) = (usize::try_from(number(80))?, usize::try_from(number(84))?);
        let start = usize::try_from(table.get(72))?.checked_mul(block).with_context(damaged)?;
        let entries = count.checked_mul(entry).and_then(|length| head.get(start..start.checked_add(length)?));
        table.entries = entries.with_context(damaged)?.to_vec();
        // The backup with its header must fit into the part of the disk that is written last.
        ensure!(
            (128..=4096).contains(&entry) && count > 0 && table.entries.len() <= head.len() / 4,
            damaged()
        );
        let sum = crc32fast::hash(&table.entries);
        ensure!(sum.to_le_bytes() == table.header[88..92], damaged());
        table.entry = entry;
        Ok(table)
    }

    /// Returns the entries, one after the other.
    pub fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// Returns the number at a position of the header.
    pub fn get(&self, at: usize) -> u64 {
        number(&self.header, at)
    }

    fn set(&mut self, at: usize, value: u64) {
        self.header[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Returns the header for one of its two places, with its checksum.
    fn header(&self, place: u64, other: u64, entries: u64) -> Vec<u8> {
        let mut header = self.header.clone();
        for (at, value) in [(24, place), (32, other), (72, entries)] {
            header[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        header[16..20].fill(0);
        let sum = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        header
    }

    fn efi_system(&self) -> Option<EfiSystem> {
        let (number_of, entry) =
            self.entries.chunks_exact(self.entry).enumerate().find(|(_, entry)| entry[..16] == EFI_SYSTEM)?;
        let (start, end) = (number(entry, 32), number(entry, 40));
        let guid = entry[16..32].try_into().ok()?;
        Some(EfiSystem {
            number: u32::try_from(number_of).ok()? + 1,
            start,
            length: end.checked_sub(start)? + 1,
            guid,
        })
    }

    fn add(&mut self, start: u64, length: u64, random: &Random) -> Result<()> {
        for entry in self.entries.chunks_exact(self.entry).filter(|entry| entry[..16] != [0; 16]) {
            ensure!(
                number(entry, 40) < start,
                "the image leaves no room for the configuration drive at the end of the disk"
            );
        }
        let Some(entry) = self.entries.chunks_exact_mut(self.entry).find(|entry| entry[..16] == [0; 16])
        else {
            bail!("the image's GPT has no free entry for the configuration drive");
        };
        entry.fill(0);
        entry[..16].copy_from_slice(&BASIC_DATA);
        random.fill(&mut entry[16..32]);
        entry[32..40].copy_from_slice(&start.to_le_bytes());
        entry[40..48].copy_from_slice(&(start + length - 1).to_le_bytes());
        for (place, character) in
            entry[56..128].chunks_exact_mut(2).zip(super::config_drive::LABEL.encode_utf16())
        {
            place.copy_from_slice(&character.to_le_bytes());
        }
        Ok(())
    }
}

/// Returns the number at a position.
pub fn number(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
