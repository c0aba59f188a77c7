//! The encoding of changes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bytes::Bytes;
use store::testing::{COMPRESS_FROM, decode, decode_links, decode_without_value, encode};
use store::{Change, ChangeKind, Key, Revision};

/// The bytes of a row before its key, and those after its value.
const HEADER: usize = 29;
const CHECKSUM: usize = 4;

fn change(kind: ChangeKind, value: &'static [u8]) -> Change {
    Change {
        revision: Revision(7),
        kind,
        key: Key::new("g.io", "things", Some("ns"), "name").unwrap(),
        value: Bytes::from_static(value),
        create_revision: Revision(3),
        previous: Revision(5),
        time: -1,
    }
}

/// A value that is long enough to be compressed.
const LONG: &[u8] = &[b'x'; 2 * COMPRESS_FROM];

#[test]
fn rows_come_back() {
    let random: &[u8] = &std::array::from_fn::<u8, 1024, _>(|n| (n * n * 7 / 13 + n * 31 / 7) as u8);
    let random: &'static [u8] = Box::leak(random.into());
    for change in [
        change(ChangeKind::Put, b"{}"),
        change(ChangeKind::Put, LONG),
        change(ChangeKind::Put, random),
        change(ChangeKind::Delete, b""),
        change(ChangeKind::Delete, LONG),
    ] {
        let row = encode(&change);
        assert_eq!(decode(Revision(7), &row).unwrap(), change);
        let without_value = Change { value: Bytes::new(), ..change.clone() };
        assert_eq!(decode_without_value(Revision(7), &row).unwrap(), without_value);
        assert_eq!(decode_links(Revision(7), &row).unwrap(), (change.kind, Revision(5)));
    }
}

#[test]
fn long_values_take_less_room_and_short_ones_no_more() {
    assert!(encode(&change(ChangeKind::Put, LONG)).len() < 200);
    let short = change(ChangeKind::Put, b"{}");
    assert_eq!(encode(&short).len(), HEADER + short.key.as_str().len() + 2 + CHECKSUM);
}

/// Rows of format 1 remain readable.
#[test]
fn a_row_of_format_1_is_read() {
    let change = change(ChangeKind::Put, LONG);
    let mut row = encode(&Change { value: Bytes::new(), ..change.clone() });
    row.truncate(row.len() - CHECKSUM);
    row.extend(LONG);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&7_u64.to_le_bytes());
    checksum.update(&row);
    row.extend(checksum.finalize().to_le_bytes());
    assert_eq!(decode(Revision(7), &row).unwrap(), change);
}

#[test]
fn every_flipped_bit_and_every_lost_byte_is_found() {
    for value in [b"some value", LONG] {
        let row = encode(&change(ChangeKind::Put, value));
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(Revision(7), &damaged).is_err(), "bit {bit}");
            assert!(decode_without_value(Revision(7), &damaged).is_err(), "bit {bit}");
        }
        for length in 0..row.len() {
            assert!(decode(Revision(7), &row[..length]).is_err(), "length {length}");
        }
        assert!(decode(Revision(8), &row).is_err(), "a row at another revision");
    }
}
