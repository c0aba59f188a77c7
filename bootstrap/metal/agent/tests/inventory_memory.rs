//! Tests of `inventory::memory`.

use agent::testing::{MEMORY_DEVICE, of_modules};

fn module(size: u16, extended: u32) -> Vec<u8> {
    let mut structure = vec![0; 40];
    structure[0] = MEMORY_DEVICE;
    structure[1] = 40;
    structure[12..14].copy_from_slice(&size.to_le_bytes());
    structure[28..32].copy_from_slice(&extended.to_le_bytes());
    structure.extend(b"DIMM 0\0Maker\0\0");
    structure
}

#[test]
fn modules_are_summed() {
    let other = [&[1, 4, 0, 0][..], b"\0\0"].concat();
    let table = [
        module(16384, 0),
        other,
        module(0x7fff, 65536),
        module(0, 0),
        module(0xffff, 0),
        vec![127, 4, 0, 0, 0, 0],
    ];
    assert_eq!(of_modules(&table.concat()), 16384 + 65536);
    assert_eq!(of_modules(&module(512, 0)[..30]), 0);
    assert_eq!(of_modules(&[]), 0);
}
