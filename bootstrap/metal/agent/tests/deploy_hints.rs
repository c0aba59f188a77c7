//! Tests of `deploy::hints`.

use agent::Disk;
use agent::testing::hints::{GIBIBYTE, SIZE_MIN, choose};
use agent_protocol::RootDeviceHints;

fn disks() -> Vec<Disk> {
    let disk = |name: &str, gigabytes: u64, serial: &str, rotational: bool| Disk {
        name: name.into(),
        by_path: vec![format!("/dev/disk/by-path/of-{serial}")],
        size: gigabytes * GIBIBYTE,
        serial: Some(serial.into()),
        model: Some("QEMU HARDDISK".into()),
        wwn: (serial == "c").then(|| "0x5000c500".into()),
        rotational,
        ..Disk::default()
    };
    vec![
        disk("/dev/sdb", 20, "b", true),
        disk("/dev/sda", 20, "a", false),
        disk("/dev/sdc", 2, "c", false),
        disk("/dev/sdd", 80, "d", true),
    ]
}

#[test]
fn hints_and_what_they_fit() {
    let hints = |set: &dyn Fn(&mut RootDeviceHints)| {
        let mut hints = RootDeviceHints::default();
        set(&mut hints);
        choose(&disks(), &hints).map(|disk| disk.name.clone()).map_err(|error| error.to_string())
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(hints(&|_| ()).unwrap(), "/dev/sda");
    assert_eq!(hints(&|h| h.device_name = text("/dev/sdc")).unwrap(), "/dev/sdc");
    assert_eq!(hints(&|h| h.device_name = text("/dev/disk/by-path/of-d")).unwrap(), "/dev/sdd");
    assert_eq!(hints(&|h| h.min_size_gigabytes = Some(21)).unwrap(), "/dev/sdd");
    assert_eq!(hints(&|h| h.min_size_gigabytes = Some(20)).unwrap(), "/dev/sda");
    assert_eq!(hints(&|h| h.rotational = Some(true)).unwrap(), "/dev/sdb");
    assert_eq!(hints(&|h| h.model = text("harddisk")).unwrap(), "/dev/sdc");
    assert_eq!(hints(&|h| h.wwn = text("0x5000C500")).unwrap(), "/dev/sdc");
    let both = hints(&|h| (h.serial_number, h.rotational) = (text("a"), Some(true))).unwrap_err();
    assert!(both.contains("/dev/sda (20.0 GiB, QEMU HARDDISK, serial a): rotational is false"), "{both}");
    assert!(
        both.contains("/dev/sdb (20.0 GiB, QEMU HARDDISK, serial b): serialNumber is not \"a\", it is \"b\""),
        "{both}"
    );
    let vendor = hints(&|h| h.vendor = text("Dell")).unwrap_err();
    assert!(vendor.contains("vendor contains not \"Dell\", it is not known"), "{vendor}");
}

#[test]
fn disks_that_are_no_root_disks() {
    let with = |set: &dyn Fn(&mut Disk)| {
        let mut disk = disks().swap_remove(0);
        set(&mut disk);
        choose(&[disk], &RootDeviceHints::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(with(&|_| ()).is_ok());
    assert!(with(&|d| d.size = SIZE_MIN - 1).unwrap_err().contains("smaller than 4.0 GiB"));
    assert!(with(&|d| d.removable = true).unwrap_err().contains("removable"));
    assert!(with(&|d| d.read_only = true).unwrap_err().contains("cannot be written"));
    assert!(choose(&[], &RootDeviceHints::default()).is_err());
}
