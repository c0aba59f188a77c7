//! An ISO image that UEFI boots as virtual media of a BMC: a unified kernel image on a FAT file system, which is the boot image of an
//! ISO 9660 file system ("El Torito" specification 1.0, ECMA-119, Microsoft's FAT specification 1.03).
//!
//! The image is a list of pieces: except for some kilobytes it consists of the kernel image file, so an image for each machine needs no
//! disk space.

use crate::pieces::Pieces;
use anyhow::{Result, ensure};

/// The block size of the ISO file system in bytes.
const BLOCK: u64 = 2048;
/// The block of the first volume descriptor.
const DESCRIPTORS: u64 = 16;
/// The blocks of the boot catalogue, the path tables and the root folder.
const CATALOGUE: u32 = 19;
const PATH_TABLE: u32 = 20;
const PATH_TABLE_BIG_ENDIAN: u32 = 21;
const ROOT: u32 = 22;
/// The first block of the boot image.
const BOOT_IMAGE: u32 = 23;
const VOLUME: &str = "FIRSTLIGHT";
/// The platform identifier of a boot entry for UEFI.
const EFI: u8 = 0xef;

/// Returns an ISO image of a unified kernel image for `architecture` (`x86_64`, `aarch64`).
///
/// # Errors
/// The kernel image is too large for FAT, or the architecture is unknown.
pub fn assemble(kernel_image: Pieces, architecture: &str) -> Result<Pieces> {
    let name = match architecture {
        "x86_64" => b"BOOTX64 EFI",
        "aarch64" => b"BOOTAA64EFI",
        other => anyhow::bail!("{other:?} is no architecture that firmware starts; x86_64 and aarch64 are"),
    };
    let boot_image = fat(kernel_image, name)?;
    let blocks = boot_image.len().div_ceil(BLOCK);
    let total = u64::from(BOOT_IMAGE) + blocks;
    let mut image = Pieces::default();
    image.push(vec![0; usize::try_from(DESCRIPTORS * BLOCK)?]);
    image.push(primary_descriptor(u32::try_from(total)?));
    image.push(boot_record());
    image.push(block(&[255, b'C', b'D', b'0', b'0', b'1', 1]));
    image.push(catalogue(blocks * (BLOCK / 512)));
    image.push(path_table(u32::to_le_bytes, u16::to_le_bytes));
    image.push(path_table(u32::to_be_bytes, u16::to_be_bytes));
    image.push(block(&[folder_record(&[0]), folder_record(&[1])].concat()));
    image.extend(boot_image);
    image.pad(BLOCK);
    Ok(image)
}

/// Pads the bytes to a block of the ISO file system.
fn block(bytes: &[u8]) -> Vec<u8> {
    let mut block = bytes.to_vec();
    block.resize(BLOCK as usize, 0);
    block
}

/// Returns a number in both byte orders, as ISO 9660 stores most numbers.
fn both(number: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn both_short(number: u16) -> [u8; 4] {
    let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
    [little[0], little[1], big[0], big[1]]
}

fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Returns the directory record of the root folder: `name` is 0 for the folder itself, or 1 for its parent, which is also the root.
fn folder_record(name: &[u8]) -> Vec<u8> {
    let mut record = vec![0; 34];
    record[0] = 34;
    put(&mut record, 2, &both(ROOT));
    put(&mut record, 10, &both(BLOCK as u32));
    // The time is zero, so that the same input gives the same bytes.
    record[25] = 2;
    put(&mut record, 28, &both_short(1));
    record[32] = 1;
    put(&mut record, 33, name);
    record
}

fn primary_descriptor(blocks: u32) -> Vec<u8> {
    let mut descriptor = block(&[1, b'C', b'D', b'0', b'0', b'1', 1]);
    // The identifiers of system, volume, publisher and preparer are blank.
    for (from, to) in [(8, 72), (190, 813)] {
        descriptor[from..to].fill(b' ');
    }
    put(&mut descriptor, 40, VOLUME.as_bytes());
    put(&mut descriptor, 80, &both(blocks));
    for at in [120, 124] {
        put(&mut descriptor, at, &both_short(1));
    }
    put(&mut descriptor, 128, &both_short(BLOCK as u16));
    put(&mut descriptor, 132, &both(10));
    put(&mut descriptor, 140, &PATH_TABLE.to_le_bytes());
    put(&mut descriptor, 148, &PATH_TABLE_BIG_ENDIAN.to_be_bytes());
    put(&mut descriptor, 156, &folder_record(&[0]));
    for at in [813, 830, 847, 864] {
        descriptor[at..at + 16].fill(b'0');
    }
    descriptor[881] = 1;
    descriptor
}

fn boot_record() -> Vec<u8> {
    let mut record = block(&[0, b'C', b'D', b'0', b'0', b'1', 1]);
    put(&mut record, 7, b"EL TORITO SPECIFICATION");
    put(&mut record, 71, &CATALOGUE.to_le_bytes());
    record
}

/// Returns the boot catalogue; `sectors` is the size of the boot image in units of 512 bytes. A size that does not fit is written as 0,
/// which firmware reads as "up to the end".
fn catalogue(sectors: u64) -> Vec<u8> {
    let mut catalogue = block(&[1, EFI]);
    catalogue[30..32].copy_from_slice(&[0x55, 0xaa]);
    let sum = catalogue[..32]
        .chunks_exact(2)
        .fold(0u16, |sum, pair| sum.wrapping_add(u16::from_le_bytes([pair[0], pair[1]])));
    put(&mut catalogue, 28, &sum.wrapping_neg().to_le_bytes());
    catalogue[32] = 0x88;
    put(&mut catalogue, 38, &u16::try_from(sectors).unwrap_or(0).to_le_bytes());
    put(&mut catalogue, 40, &BOOT_IMAGE.to_le_bytes());
    catalogue
}

fn path_table(long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut table = vec![1, 0];
    table.extend(long(ROOT));
    table.extend(short(1));
    table.push(0);
    block(&table)
}

/// The sector size of the FAT file system in bytes.
const SECTOR: u64 = 512;
/// The least and the largest number of clusters of FAT16; firmware recognises the FAT type by this number alone.
const CLUSTERS_MIN: u64 = 4085;
const CLUSTERS_MAX: u64 = 65524;
const ROOT_ENTRIES: u64 = 512;
/// `\EFI` and `\EFI\BOOT` have one cluster each (2 and 3); the file starts behind them.
const FILE_CLUSTER: u64 = 4;
const FOLDER_ATTRIBUTE: u8 = 0x10;
const FILE_ATTRIBUTE: u8 = 0x20;
const LAST_CLUSTER: u16 = 0xffff;
/// 1 January 1980, the first date of FAT.
const DAY: u16 = 0x21;

/// Returns a FAT16 file system that contains only `\EFI\BOOT\NAME`, in contiguous clusters.
fn fat(file: Pieces, name: &[u8; 11]) -> Result<Pieces> {
    let size = file.len();
    let mut cluster = 2048;
    while size / cluster > CLUSTERS_MAX - 64 && cluster < 32768 {
        cluster *= 2;
    }
    ensure!(
        size / cluster <= CLUSTERS_MAX - 64,
        "the kernel image has {size} bytes; a FAT16 file system holds 2 GiB"
    );
    let of_file = size.div_ceil(cluster);
    let clusters = (of_file + FILE_CLUSTER).max(CLUSTERS_MIN + 64);
    let fat_sectors = ((clusters + 2) * 2).div_ceil(SECTOR);
    let before = SECTOR * (1 + 2 * fat_sectors) + ROOT_ENTRIES * 32;
    let sectors = (before + clusters * cluster).div_ceil(SECTOR);
    let table = allocation(of_file, fat_sectors)?;
    let mut image = Pieces::default();
    image.push(boot_sector(sectors, cluster / SECTOR, fat_sectors)?);
    image.push(table.clone());
    image.push(table);
    image.push(folder(&[entry(b"EFI        ", FOLDER_ATTRIBUTE, 2, 0)], ROOT_ENTRIES * 32));
    let efi = [
        entry(b".          ", FOLDER_ATTRIBUTE, 2, 0),
        entry(b"..         ", FOLDER_ATTRIBUTE, 0, 0),
        entry(b"BOOT       ", FOLDER_ATTRIBUTE, 3, 0),
    ];
    image.push(folder(&efi, cluster));
    let boot = [
        entry(b".          ", FOLDER_ATTRIBUTE, 3, 0),
        entry(b"..         ", FOLDER_ATTRIBUTE, 2, 0),
        entry(name, FILE_ATTRIBUTE, FILE_CLUSTER as u16, u32::try_from(size)?),
    ];
    image.push(folder(&boot, cluster));
    image.extend(file);
    let left = sectors * SECTOR - image.len();
    image.push(crate::pieces::Piece::Zeros(left));
    Ok(image)
}

fn boot_sector(sectors: u64, per_cluster: u64, fat_sectors: u64) -> Result<Vec<u8>> {
    let mut boot = vec![0; SECTOR as usize];
    put(&mut boot, 0, &[0xeb, 0x3c, 0x90]);
    put(&mut boot, 3, b"MSWIN4.1");
    put(&mut boot, 11, &(SECTOR as u16).to_le_bytes());
    boot[13] = u8::try_from(per_cluster)?;
    put(&mut boot, 14, &[1, 0, 2]);
    put(&mut boot, 17, &(ROOT_ENTRIES as u16).to_le_bytes());
    boot[21] = 0xf8;
    put(&mut boot, 22, &u16::try_from(fat_sectors)?.to_le_bytes());
    // A file system of less than 65536 sectors has its size in a field of 16 bits.
    match u16::try_from(sectors) {
        Ok(sectors) => put(&mut boot, 19, &sectors.to_le_bytes()),
        Err(_) => put(&mut boot, 32, &u32::try_from(sectors)?.to_le_bytes()),
    }
    put(&mut boot, 24, &[32, 0, 64, 0]);
    put(&mut boot, 36, &[0x80, 0, 0x29, 1, 0, 0, 0]);
    put(&mut boot, 43, b"FIRSTLIGHT FAT16   ");
    put(&mut boot, 510, &[0x55, 0xaa]);
    Ok(boot)
}

/// Returns the file allocation table.
fn allocation(of_file: u64, fat_sectors: u64) -> Result<Vec<u8>> {
    let mut next = vec![0xfff8, LAST_CLUSTER, LAST_CLUSTER, LAST_CLUSTER];
    for number in 1..of_file {
        next.push(u16::try_from(FILE_CLUSTER + number)?);
    }
    if of_file > 0 {
        next.push(LAST_CLUSTER);
    }
    let mut bytes: Vec<u8> = next.into_iter().flat_map(u16::to_le_bytes).collect();
    bytes.resize(usize::try_from(fat_sectors * SECTOR)?, 0);
    Ok(bytes)
}

fn entry(name: &[u8; 11], attribute: u8, cluster: u16, size: u32) -> [u8; 32] {
    let mut entry = [0; 32];
    put(&mut entry, 0, name);
    entry[11] = attribute;
    put(&mut entry, 24, &DAY.to_le_bytes());
    put(&mut entry, 26, &cluster.to_le_bytes());
    put(&mut entry, 28, &size.to_le_bytes());
    entry
}

fn folder(entries: &[[u8; 32]], size: u64) -> Vec<u8> {
    let mut folder = entries.concat();
    folder.resize(size as usize, 0);
    folder
}
