//! Tests of `inventory::addresses`.

use agent::testing::{by_path, is_pci};

#[test]
fn places_of_disks() {
    let cases = [
        ("devices/pci0000:00/0000:00:04.0/virtio1", None, "pci-0000:00:04.0"),
        ("devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0", Some("1"), "pci-0000:01:00.0-nvme-1"),
        ("devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0", None, "pci-0000:00:1f.2-ata-3"),
        ("devices/pci0000:00/0000:03:00.0/host0/target0:2:0/0:2:0:0", None, "pci-0000:03:00.0-scsi-0:2:0:0"),
        (
            "devices/pci0000:00/0000:00:05.0/virtio2/host6/target6:0:1/6:0:1:3",
            None,
            "pci-0000:00:05.0-scsi-0:0:1:3",
        ),
        (
            "devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host7/target7:0:0/7:0:0:0",
            None,
            "pci-0000:00:14.0-usb-0:1:1.0-scsi-0:0:0:0",
        ),
    ];
    for (path, namespace, expected) in cases {
        let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        assert_eq!(by_path(&parts, namespace)[0], format!("/dev/disk/by-path/{expected}"));
    }
    assert!(by_path(&["devices".into(), "platform".into()], None).is_empty());
    assert!(!is_pci("0:0:0:0") && !is_pci("pci0000:00") && is_pci("0000:00:04.0"));
}
