//! Tests of `images::iso`.

use std::io::{Cursor, Read};

use fatfs::{FatType, FileSystem, FsOptions};
use metal_boot::images::iso::assemble;
use metal_boot::pieces::Pieces;

#[test]
fn the_kernel_image_is_found_in_it() {
    // The last size needs larger clusters, and more sectors than the catalogue can count.
    for size in [0usize, 1, 2048, 300_000, 9_000_001, 140_000_000] {
        let content: Vec<u8> = (0..size.min(10_000_000)).map(|n| (n / 1000) as u8).collect();
        let mut file = Pieces::default();
        file.push(content.clone());
        file.push(metal_boot::pieces::Piece::Zeros((size - content.len()) as u64));
        let mut image = Vec::new();
        assemble(file, "x86_64").unwrap().write(&mut image).unwrap();
        assert_eq!(image.len() % 2048, 0);
        assert_eq!(&image[16 * 2048 + 1..16 * 2048 + 6], b"CD001");
        let number = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(number(16 * 2048 + 80), image.len() / 2048);
        let catalogue = number(17 * 2048 + 71) * 2048;
        assert_eq!(image[catalogue + 32], 0x88);
        let sum = image[catalogue..catalogue + 32]
            .chunks(2)
            .fold(0u16, |sum, p| sum.wrapping_add(u16::from_le_bytes([p[0], p[1]])));
        assert_eq!(sum, 0);
        let boot = number(catalogue + 40) * 2048;
        let system = FileSystem::new(Cursor::new(image.split_off(boot)), FsOptions::new()).unwrap();
        assert_eq!(system.fat_type(), FatType::Fat16);
        let mut read = Vec::new();
        let folder = system.root_dir().open_dir("EFI/BOOT").unwrap();
        let length = folder.iter().map(|entry| entry.unwrap().len()).max();
        assert_eq!(length, Some(size as u64));
        let file = folder.open_file("BOOTX64.EFI").unwrap();
        file.take(content.len() as u64).read_to_end(&mut read).unwrap();
        assert!(read == content, "{size}");
    }
    assert!(assemble(Pieces::default(), "riscv64").is_err());
}
