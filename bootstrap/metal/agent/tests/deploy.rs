//! Tests of `deploy`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use anyhow::Context as _;
use std::io;
use std::sync::Mutex;

use crate::metal_agent::memory::Memory;
use agent::testing::config_drive::build as build_config_drive;
use agent::testing::{Checksum, Image, Order, Pieces, write};
use agent_protocol::ConfigDrive;
use anyhow::{Result, bail};
use bytes::Bytes;
use fatfs::{FileSystem, FsOptions};
use machinery::random::Random;

const SIZE: usize = 16 << 20;

struct InMemory(Vec<u8>);

impl Image for InMemory {
    fn open(&self) -> Pieces {
        let pieces: Vec<_> = self.0.chunks(100_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        Box::new(pieces.into_iter())
    }

    fn total(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn range(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        Ok(self.0.get(offset as usize..offset as usize + length).context("beyond the end")?.to_vec())
    }
}

fn sum(bytes: &[u8]) -> Checksum {
    let hexadecimal: String = ring::digest::digest(&ring::digest::SHA256, bytes)
        .as_ref()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    Checksum::read(&hexadecimal, "sha256").unwrap()
}

/// Returns a disk image with a GPT, as system images have.
fn disk_image() -> Vec<u8> {
    let mut image = crate::metal_agent::deploy_partitions::image(&[([1; 16], 2048, 8000)]);
    image.extend((0..3 << 20).map(|n: u32| (n / 999) as u8));
    image
}

fn order<'a>(checksum: &'a Checksum, drive: Option<&'a [u8]>, random: &'a Random) -> Order<'a> {
    Order { checksum, format: "", drive, random, progress: &|_, _| Ok(()) }
}

#[test]
fn an_image_with_its_configuration_drive() {
    let random = Random::seeded(3);
    let mut files = ConfigDrive::default();
    files.files.insert("openstack/latest/user_data".into(), "#cloud-config".into());
    let drive = build_config_drive(&files).unwrap();
    let plain = disk_image();
    let packed = zstd::encode_all(&plain[..], 3).unwrap();
    for image in [plain.clone(), packed] {
        let told = Mutex::new(Vec::new());
        let checksum = sum(&image);
        let progress = |done: u64, total: u64| -> Result<()> {
            told.lock().unwrap().push((done, total));
            Ok(())
        };
        let order = Order { progress: &progress, ..order(&checksum, Some(&drive), &random) };
        let mut disk = Memory::new(SIZE, 512);
        let completed = write(&mut disk, &InMemory(image), &order).unwrap();
        let start = completed.added.unwrap() as usize;
        assert_eq!(&disk.bytes[1 << 20..plain.len()], &plain[1 << 20..]);
        assert_eq!(disk.bytes[SIZE - 512..SIZE - 504], *b"EFI PART");
        let part = io::Cursor::new(disk.bytes[start..start + drive.len()].to_vec());
        assert_eq!(FileSystem::new(part, FsOptions::new()).unwrap().volume_label(), "config-2");
        assert!(!told.lock().unwrap().is_empty());
    }
}

#[test]
fn a_wrong_image_leaves_nothing_that_could_be_started() {
    let random = Random::seeded(3);
    let image = disk_image();
    let other = sum(b"another");
    let cases: [(&str, Vec<u8>); 4] = [
        ("checksum is", image.clone()),
        ("checksum is", zstd::encode_all(&image[..], 3).unwrap()),
        ("broke off, or is damaged", zstd::encode_all(&image[..], 3).unwrap()[..2000].to_vec()),
        ("holds 16777216", vec![1; SIZE + 1]),
    ];
    for (expected, image) in cases {
        let mut disk = Memory::new(SIZE, 512);
        let error =
            format!("{:#}", write(&mut disk, &InMemory(image), &order(&other, None, &random)).unwrap_err());
        assert!(error.contains(expected), "{error}");
        let emptied =
            disk.bytes[..1 << 20].iter().chain(&disk.bytes[SIZE - (1 << 20)..]).all(|byte| *byte == 0);
        // An image whose length shows that it is too large is refused before the disk is changed.
        assert!(emptied || expected.starts_with("holds"));
    }
}

#[test]
fn another_instruction_ends_it() {
    let random = Random::seeded(3);
    let image = disk_image();
    let checksum = sum(&image);
    let order =
        Order { progress: &|_, _| bail!("ended by another instruction"), ..order(&checksum, None, &random) };
    let mut disk = Memory::new(SIZE, 512);
    let error = format!("{:#}", write(&mut disk, &InMemory(image), &order).unwrap_err());
    assert!(error.contains("ended by another instruction"), "{error}");
    assert!(disk.bytes[..512].iter().all(|byte| *byte == 0));
}
