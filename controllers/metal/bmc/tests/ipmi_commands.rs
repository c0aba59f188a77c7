//! Tests of `ipmi::commands`.

use bmc::ipmi::commands::{boot, firmware_version, has_version_2, power, set_boot_flags, uuid};
use bmc::{Boot, BootDevice, BootMode, Persistence, Power};

#[test]
fn boot_flags_come_back() {
    use BootDevice::{Disk, Network, VirtualMedia};
    for (device, persistence, mode, flags) in [
        (Network, Persistence::Once, BootMode::Legacy, [0x80, 0x04]),
        (Network, Persistence::Once, BootMode::Uefi, [0xa0, 0x04]),
        (Disk, Persistence::Always, BootMode::Uefi, [0xe0, 0x08]),
        (VirtualMedia, Persistence::Once, BootMode::Uefi, [0xa0, 0x14]),
    ] {
        let wanted = Boot { device, persistence, mode: Some(mode) };
        let sent = set_boot_flags(&wanted).unwrap().data;
        assert_eq!(sent, [&[5], &flags[..], &[0, 0, 0]].concat());
        let answer = [&[1][..], &sent].concat();
        assert_eq!(boot(&answer), Some(wanted));
        assert_eq!(boot(&answer[..3]), None);
    }
    let http = BootDevice::UefiHttp { url: None };
    assert_eq!(set_boot_flags(&Boot { device: http, persistence: Persistence::Once, mode: None }), None);
    assert_eq!(boot(&[1, 5, 0x00, 0x04, 0, 0, 0]), None);
    assert_eq!(boot(&[1, 5, 0x80, 0x3c, 0, 0, 0]), None);
}

#[test]
fn answers() {
    assert_eq!((power(&[0x21]), power(&[0x20]), power(&[])), (Power::On, Power::Off, Power::Unknown));
    assert_eq!(firmware_version(&[0x20, 1, 0x83, 0x45, 2]).as_deref(), Some("3.45"));
    assert!(has_version_2(&[1, 0x80, 0x14, 0x02]) && !has_version_2(&[1, 0x16, 0x14, 0x02]));
    assert!(!has_version_2(&[1]));
}

#[test]
fn uuids_in_every_order() {
    let uuid_text = "38947555-7742-4b9c-8784-823347823834";
    let plain: Vec<u8> = (0..32)
        .step_by(2)
        .map(|at| u8::from_str_radix(&uuid_text.replace('-', "")[at..at + 2], 16).unwrap())
        .collect();
    let mut smbios = plain.clone();
    smbios[..4].reverse();
    smbios[4..6].reverse();
    smbios[6..8].reverse();
    let turned: Vec<u8> = plain.iter().rev().copied().collect();
    for bytes in [plain, smbios, turned] {
        assert_eq!(uuid(&bytes).as_deref(), Some(uuid_text));
    }
    assert_eq!(uuid(&[0; 16]), None);
    assert_eq!(uuid(&[1; 15]), None);
}
