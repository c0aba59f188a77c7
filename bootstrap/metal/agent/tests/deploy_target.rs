//! Tests of `deploy::target`.

use crate::metal_agent::memory::Memory;
use agent::testing::Disk as _;
use agent::testing::target::{END, FIRST, Target};
use anyhow::Result;
use machinery::random::Random;
use proptest::prelude::*;

const SIZE: usize = 4 << 20;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn what_is_written_in_any_pieces_is_on_the_disk(
        pieces in proptest::collection::vec((1usize..300_000, any::<bool>()), 1..40),
    ) {
        let mut disk = Memory::new(SIZE, 512);
        let mut expected = disk.bytes.clone();
        expected[..END as usize].fill(0);
        expected[SIZE - END as usize..].fill(0);
        let mut target = Target::begin(&mut disk).unwrap();
        let mut at = 0;
        for (length, zeros) in pieces {
            let length = length.min(SIZE - at);
            let bytes: Vec<u8> = (0..length).map(|n| if zeros { 0 } else { (n % 251) as u8 }).collect();
            target.write(at as u64, &bytes).unwrap();
            expected[at..at + length].copy_from_slice(&bytes);
            at += length;
        }
        target.finish(|_, _| Ok(())).unwrap();
        prop_assert!(disk.bytes == expected);
    }
}

#[test]
fn an_image_that_is_too_large_is_refused() {
    let mut disk = Memory::new(SIZE, 512);
    let mut target = Target::begin(&mut disk).unwrap();
    target.write(SIZE as u64 - 10, &[1; 10]).unwrap();
    let error = target.write(SIZE as u64 - 9, &[1; 10]).unwrap_err().to_string();
    assert!(error.contains("larger than the disk"), "{error}");
    assert!(Target::begin(&mut Memory::new(1000, 512)).is_err());
}

#[test]
fn a_power_cut_leaves_no_partition_table_or_all_of_the_image() {
    let mut image: Vec<u8> = (0..SIZE).map(|n| (n / 7) as u8).collect();
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image[512..520].copy_from_slice(b"EFI PART");
    let deploy = |disk: &mut Memory| -> Result<()> {
        let mut target = Target::begin(disk)?;
        for (number, part) in image.chunks(1 << 20).enumerate() {
            target.write((number << 20) as u64, part)?;
        }
        target.finish(|_, _| Ok(()))
    };
    let random = Random::seeded(7);
    let (mut cuts, mut whole) = (0, false);
    while !whole {
        let mut disk = Memory::new(SIZE, 512);
        // The disk has an old partition table before the deployment.
        disk.write_at(510, &[0x55, 0xaa]).unwrap();
        disk.write_at(512, b"EFI PART").unwrap();
        disk.sync().unwrap();
        disk.power = Some(cuts);
        whole = deploy(&mut disk).is_ok();
        let left = disk.after_power_cut(&random);
        let (first, rest) = left.split_at(FIRST);
        let valid = first[510..512] == [0x55, 0xaa] || &first[512..520] == b"EFI PART";
        // While the ends are being zeroed, the remains of the old table may still be valid.
        let emptied = cuts >= 3;
        assert!(!emptied || !valid || *rest == image[FIRST..], "after {cuts} steps");
        cuts += 1;
    }
    assert!(cuts > 20);
}
