//! Tests of `deploy::partitions`.

use agent::testing::partitions::{
    BASIC_DATA, Completed, EFI_SYSTEM, EfiSystem, HEADER, MBR_FAT, MBR_GPT, SIGNATURE, Table, complete,
    number,
};
use agent::testing::target::Ends;
use anyhow::Result;
use machinery::random::Random;

const BLOCK: usize = 512;
const BLOCKS: u64 = 64 << 11;

/// Returns the head of an image with a GPT whose partitions are `(type, first, last)`.
pub fn image(partitions: &[([u8; 16], u64, u64)]) -> Vec<u8> {
    let mut head = vec![0; 1 << 20];
    head[446..462].copy_from_slice(&[0, 0, 2, 0, MBR_GPT, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0]);
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    let mut entries = vec![0; 128 * 128];
    for (entry, (kind, first, last)) in entries.chunks_exact_mut(128).zip(partitions) {
        entry[..16].copy_from_slice(kind);
        entry[16..32].fill(9);
        entry[32..40].copy_from_slice(&first.to_le_bytes());
        entry[40..48].copy_from_slice(&last.to_le_bytes());
    }
    let mut header = vec![0; HEADER];
    header[..8].copy_from_slice(SIGNATURE);
    header[12] = HEADER as u8;
    for (at, value) in [(24, 1u64), (32, 8191), (40, 34), (48, 8158), (72, 2)] {
        header[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    header[80] = 128;
    header[84] = 128;
    header[88..92].copy_from_slice(&crc32fast::hash(&entries).to_le_bytes());
    let sum = crc32fast::hash(&header);
    header[16..20].copy_from_slice(&sum.to_le_bytes());
    head[BLOCK..BLOCK + HEADER].copy_from_slice(&header);
    head[1024..1024 + entries.len()].copy_from_slice(&entries);
    head
}

fn completed(head: &mut [u8], bytes: Option<u64>) -> Result<(Completed, Vec<u8>)> {
    let mut tail = vec![7; 1 << 20];
    let mut ends = Ends { head, tail: &mut tail, size: BLOCKS * BLOCK as u64, block: BLOCK as u64 };
    let completed = complete(&mut ends, bytes, &Random::seeded(1))?;
    Ok((completed, tail))
}

#[test]
fn the_copy_of_a_gpt_stands_at_the_end_of_the_disk() {
    let mut head = image(&[(EFI_SYSTEM, 2048, 4095), (BASIC_DATA, 4096, 8100)]);
    let (found, tail) = completed(&mut head, Some(4 << 20)).unwrap();
    let expected = EfiSystem { number: 1, start: 2048, length: 2048, guid: [9; 16] };
    assert_eq!(found.efi_system, Some(expected));
    assert_eq!(found.added, Some(59 << 20));
    let primary = Table::read(&head, BLOCK).unwrap();
    assert_eq!(
        (primary.get(24), primary.get(32), primary.get(48), primary.get(72)),
        (1, BLOCKS - 1, BLOCKS - 34, 2)
    );
    let added = &primary.entries()[256..384];
    assert_eq!((number(added, 32), number(added, 40)), (59 << 11, (63 << 11) - 1));
    assert_eq!(&added[56..62], b"c\0o\0n\0");
    // The backup is a complete table, so it is read as one.
    let backup_header = tail[tail.len() - BLOCK..].to_vec();
    assert_eq!(
        (number(&backup_header, 24), number(&backup_header, 32), number(&backup_header, 72)),
        (BLOCKS - 1, 1, BLOCKS - 33)
    );
    let mut summed = backup_header[..HEADER].to_vec();
    summed[16..20].fill(0);
    assert_eq!(crc32fast::hash(&summed).to_le_bytes(), backup_header[16..20]);
    assert_eq!(&tail[tail.len() - 33 * BLOCK..tail.len() - BLOCK], primary.entries());
    assert_eq!(head[458..462], ((BLOCKS - 1) as u32).to_le_bytes());
}

#[test]
fn an_mbr_gets_a_partition_in_a_free_place() {
    let mut head = vec![0; 1 << 20];
    head[510..512].copy_from_slice(&[0x55, 0xaa]);
    head[446..462].copy_from_slice(&[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0]);
    let (found, _) = completed(&mut head, Some(4 << 20)).unwrap();
    assert_eq!(found.added, Some(59 << 20));
    assert_eq!(head[466], MBR_FAT);
    assert_eq!(head[470..474], (59u32 << 11).to_le_bytes());
    assert_eq!(head[474..478], (4u32 << 11).to_le_bytes());
    head[466 + 4..478].fill(0);
    head[478 + 4] = 0x83;
    head[494 + 4] = 0x83;
    let full = completed(&mut head, Some(4 << 20)).unwrap_err().to_string();
    assert!(full.contains("four partitions"), "{full}");
}

#[test]
fn tables_that_cannot_be_completed() {
    let error = |head: &mut Vec<u8>, bytes| completed(head, bytes).unwrap_err().to_string();
    let mut full = image(&[(BASIC_DATA, 2048, BLOCKS - 100)]);
    assert!(error(&mut full, Some(4 << 20)).contains("leaves no room"));
    assert!(completed(&mut full, None).is_ok());
    let mut damaged = image(&[]);
    damaged[1030] = 1;
    assert!(error(&mut damaged, None).contains("damaged"));
    let mut none = vec![0; 1 << 20];
    assert!(error(&mut none, Some(4 << 20)).contains("no partition table"));
    assert_eq!(completed(&mut none, None).unwrap().0, Completed::default());
    let mut other = vec![0; 1 << 20];
    other[4096..4104].copy_from_slice(SIGNATURE);
    assert!(error(&mut other, None).contains("blocks of 4096 bytes"));
    for at in 0..HEADER {
        let mut broken = image(&[(BASIC_DATA, 2048, 4096)]);
        broken[BLOCK + at] ^= 0xff;
        // The table is damaged, or not recognised as a GPT.
        let _ = completed(&mut broken, Some(4 << 20));
    }
}
