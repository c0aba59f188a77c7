//! Tests of `ipmi::fru`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use bmc::ipmi::fru::Area;

fn area(kind: Area, fields: &[&[u8]]) -> Vec<u8> {
    let mut area = vec![1, 0, 25];
    if kind == Area::Board {
        area.extend([0; 3]);
    }
    fields.iter().for_each(|field| area.extend_from_slice(field));
    area.push(0xc1);
    while (area.len() + 1) % 8 != 0 {
        area.push(0);
    }
    area[1] = u8::try_from((area.len() + 1) / 8).unwrap();
    area.push(area.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg());
    area
}

#[test]
fn areas() {
    let product: [&[u8]; 5] = [b"\xc4QEMU", b"\xc6Pc i4 ", b"\xc0", b"\x01\x10", b"\x42\x12\x3a"];
    let read = Area::Product.read(&area(Area::Product, &product)).unwrap();
    assert_eq!(
        (read.manufacturer.as_str(), read.model.as_str(), read.serial.as_str()),
        ("QEMU", "Pc i4", "123")
    );
    // "IPMI" in 6-bit ASCII, from the specification's example.
    let board: [&[u8]; 3] = [b"\x83\x29\xdc\xa6", b"\xc1"[..0].as_ref(), b""];
    let read = Area::Board.read(&area(Area::Board, &board)).unwrap();
    assert_eq!((read.manufacturer.as_str(), read.serial.as_str()), ("IPMI", ""));
    let whole = area(Area::Product, &product);
    for length in 0..whole.len() {
        assert_eq!(Area::Product.read(&whole[..length]), None);
    }
    let mut changed = whole;
    changed[5] ^= 1;
    assert_eq!(Area::Product.read(&changed), None);
}

#[test]
fn offsets() {
    let head = [1, 0, 0, 2, 10, 0, 0, 0xf3];
    assert_eq!((Area::Board.offset(&head), Area::Product.offset(&head)), (Some(16), Some(80)));
    assert_eq!(Area::Board.offset(&[1, 0, 0, 0, 10, 0, 0, 0]), None);
    assert_eq!(Area::Board.offset(&[]), None);
    assert_eq!(Area::Board.offset(&[0xff; 8]), None);
}
