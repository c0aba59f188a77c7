//! Tests of `deploy::qcow2`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use anyhow::Context as _;
use std::io::Write;

use crate::metal_agent::memory::Memory;
use agent::testing::qcow2::{ALL_ZEROS, COMPRESSED, FEATURE_COMPRESSION, Map};
use agent::testing::target::{END, Target};
use anyhow::Result;

const BITS: u32 = 12;
const CLUSTER: usize = 1 << BITS;
/// The image's disk ends in the middle of a cluster.
const SIZE: usize = 3 * (1 << 20) + 512;

/// Returns an image whose clusters are plain, compressed (sharing sectors), zero, and absent in turn, and the content of its disk.
fn image(zstd: bool) -> (Vec<u8>, Vec<u8>) {
    let clusters = SIZE.div_ceil(CLUSTER);
    let tables = clusters.div_ceil(CLUSTER / 8);
    let mut disk = vec![0; SIZE];
    let mut file = vec![0; (1 + 1 + tables) * CLUSTER];
    let mut l2 = vec![0u64; tables * CLUSTER / 8];
    for (cluster, entry) in l2.iter_mut().enumerate().take(clusters) {
        let from = cluster * CLUSTER;
        let length = CLUSTER.min(SIZE - from);
        let content: Vec<u8> = (0..CLUSTER).map(|n| (n * (cluster + 3) / 50) as u8).collect();
        match cluster % 4 {
            0 => {
                file.resize(file.len().next_multiple_of(CLUSTER), 0);
                *entry = file.len() as u64 | 1 << 63;
                file.extend(&content);
            }
            1 | 2 => {
                let packed = pack(&content, zstd);
                let sectors = ((file.len() % 512 + packed.len()).div_ceil(512) - 1) as u64;
                *entry = COMPRESSED | sectors << (62 - (BITS - 8)) | file.len() as u64;
                file.extend(packed);
            }
            _ => {
                *entry = if cluster % 8 == 3 { ALL_ZEROS } else { 0 };
                continue;
            }
        }
        disk[from..from + length].copy_from_slice(&content[..length]);
    }
    for (index, entry) in l2.iter().enumerate() {
        let at = 2 * CLUSTER + index * 8;
        file[at..at + 8].copy_from_slice(&entry.to_be_bytes());
    }
    for table in 0..tables {
        let at = CLUSTER + table * 8;
        file[at..at + 8].copy_from_slice(&(((2 + table) * CLUSTER) as u64 | 1 << 63).to_be_bytes());
    }
    let mut put = |at: usize, length: usize, value: u64| {
        file[at..at + length].copy_from_slice(&value.to_be_bytes()[8 - length..])
    };
    put(0, 4, 0x5146_49fb);
    put(4, 4, 3);
    put(20, 4, BITS.into());
    put(24, 8, SIZE as u64);
    put(36, 4, tables as u64);
    put(40, 8, CLUSTER as u64);
    put(72, 8, if zstd { FEATURE_COMPRESSION } else { 0 });
    put(104, 1, zstd.into());
    (file, disk)
}

fn pack(content: &[u8], zstd: bool) -> Vec<u8> {
    if zstd {
        return zstd::encode_all(content, 3).unwrap();
    }
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn range(file: &[u8]) -> impl FnMut(u64, usize) -> Result<Vec<u8>> {
    |offset, length| {
        Ok(file.get(offset as usize..offset as usize + length).context("beyond the end")?.to_vec())
    }
}

#[test]
fn the_disk_is_the_one_that_the_image_is_of() {
    for zstd in [false, true] {
        let (file, expected) = image(zstd);
        let mut disk = Memory::new(5 << 20, 512);
        let after = disk.bytes[SIZE..(5 << 20) - END as usize].to_vec();
        let map = Map::read(range(&file), 5 << 20).unwrap();
        let mut target = Target::begin(&mut disk).unwrap();
        let mut left = &file[..];
        map.write(&mut left, &mut target).unwrap();
        assert!(left.is_empty());
        target.finish(|_, _| Ok(())).unwrap();
        assert!(disk.bytes[..SIZE] == expected);
        // The disk behind the end of the image stays unchanged.
        assert!(disk.bytes[SIZE..(5 << 20) - END as usize] == after);
    }
}

#[test]
fn images_that_cannot_be_written() {
    let (file, _) = image(false);
    let error = |at: usize, value: u8| {
        let mut file = file.clone();
        file[at] = value;
        Map::read(range(&file), 5 << 20).map(|_| ()).unwrap_err().to_string()
    };
    assert!(error(7, 1).contains("version 1"));
    assert!(error(15, 1).contains("another file behind"));
    assert!(error(35, 1).contains("encrypted"));
    assert!(error(79, 4).contains("features of qcow2"));
    assert!(error(23, 40).contains("damaged"));
    assert!(error(27, 1).contains("holds 5242880"));
    assert!(error(39, 1).contains("damaged"));
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let (whole, _) = image(false);
    for at in (0..4 * CLUSTER).step_by(611) {
        let mut file = whole.clone();
        file[at] ^= 0xa5;
        let mut disk = Memory::new(5 << 20, 512);
        if let Ok(map) = Map::read(range(&file), 5 << 20) {
            // With a changed header or offset the image is either written or refused.
            let _ = map.write(&file[..], &mut Target::begin(&mut disk).unwrap());
        }
    }
    let map = Map::read(range(&whole), 5 << 20).unwrap();
    let mut other = whole.clone();
    other[2 * CLUSTER + 100] ^= 1;
    let error =
        map.write(&other[..], &mut Target::begin(&mut Memory::new(5 << 20, 512)).unwrap()).unwrap_err();
    assert!(error.to_string().contains("changed while it was fetched"), "{error}");
    let cut = map
        .write(&whole[..whole.len() / 2], &mut Target::begin(&mut Memory::new(5 << 20, 512)).unwrap())
        .unwrap_err();
    assert!(cut.to_string().contains("ends before byte"), "{cut}");
}
