//! Tests of `firmware`.

use agent::testing::firmware::{ATTRIBUTES, DESCRIPTION, Firmware, utf16};
use agent::testing::partitions::EfiSystem;

#[test]
fn what_is_installed_comes_first_and_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Firmware::find(&folder.path().join("missing")).is_none());
    let firmware = Firmware::find(folder.path()).unwrap();
    firmware.write("Boot0000", &[1, 0, 0, 0, 4, 0, b'x', 0, 0, 0, 0x7f, 0xff, 4, 0]).unwrap();
    firmware.write("BootOrder", &[0, 0]).unwrap();
    let partition = EfiSystem { number: 1, start: 2048, length: 4096, guid: [9; 16] };
    for _ in 0..2 {
        // The second installation replaces the entry of the first one.
        firmware.boot_first(&partition).unwrap();
        assert_eq!(firmware.order(), [1, 0]);
    }
    let stored = std::fs::read(firmware.path("Boot0001")).unwrap();
    assert_eq!(stored[..4], ATTRIBUTES);
    let path = 4 + 6 + utf16(DESCRIPTION).len();
    assert_eq!(u16::from_le_bytes([stored[8], stored[9]]) as usize, stored.len() - path);
    assert_eq!(stored[path..path + 8], [4, 1, 42, 0, 1, 0, 0, 0]);
    assert_eq!(stored[path + 42..path + 46], [4, 4, 48, 0]);
    firmware.forget().unwrap();
    assert_eq!(firmware.order(), [0]);
    assert!(!firmware.path("Boot0001").exists());
    firmware.forget().unwrap();
}
