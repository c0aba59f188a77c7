//! Tests of `inventory`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;

use agent::testing::lldp::Neighbour;
use agent::testing::{Known, disks, inventory, is_virtual};
use serde_json::json;

/// Writes a machine's files as they look under QEMU with a virtio disk, a SATA disk, an NVMe disk and two interfaces.
fn machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let link = |path: &str, target: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::create_dir_all(folder.path().join(target)).unwrap();
        symlink(folder.path().join(target), path).unwrap();
    };
    write("sys/class/dmi/id/sys_vendor", "QEMU\n");
    write("sys/class/dmi/id/product_name", "Standard PC\n");
    write("sys/class/dmi/id/product_serial", "\n");
    write("sys/class/dmi/id/bios_vendor", "SeaBIOS\n");
    write("sys/class/dmi/id/bios_date", "04/01/2014\n");
    write("proc/meminfo", "MemTotal:         485652 kB\nMemFree: 1 kB\n");
    write(
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: QEMU Virtual CPU\ncpu MHz\t\t: 2445.437\nflags\t\t: sse fpu apic\n\nprocessor\t: 1\n",
    );
    write("proc/sys/kernel/hostname", "(none)\n");
    write(
        "proc/net/if_inet6",
        "fe800000000000005054fffefe000001 02 40 20 80 eth0\nfd000000000000000000000000000001 02 40 00 00 eth0\n",
    );
    for (name, index, pci, device) in
        [("eth0", 2, "0000:00:03.0", "virtio0"), ("eth1", 3, "0000:00:06.0", "")]
    {
        let target = format!("sys/devices/pci0000:00/{pci}/{device}");
        link(&format!("sys/class/net/{name}/device"), target.trim_end_matches('/'));
        write(&format!("sys/class/net/{name}/type"), "1\n");
        write(&format!("sys/class/net/{name}/ifindex"), &format!("{index}\n"));
        write(&format!("sys/class/net/{name}/address"), &format!("52:54:00:00:00:0{index}\n"));
        write(&format!("{target}/vendor"), "0x1af4\n");
        write(&format!("{target}/device"), "0x0001\n");
    }
    write("sys/class/net/eth0/speed", "25000\n");
    write("sys/class/net/eth1/speed", "-1\n");
    disk_files(&write, &link);
    folder
}

fn disk_files(write: &dyn Fn(&str, &str), link: &dyn Fn(&str, &str)) {
    let disks = [
        ("vda", "sys/devices/pci0000:00/0000:00:04.0/virtio1", "20971520"),
        ("sda", "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0", "41943040"),
        ("nvme0n1", "sys/devices/pci0000:00/0000:00:05.0/nvme/nvme0", "8388608"),
        ("sr0", "sys/devices/pci0000:00/0000:00:1f.2/ata2/host1/target1:0:0/1:0:0:0", "2097151"),
        ("nvme1n1", "sys/devices/pci0000:00/0000:00:07.0/nvme/nvme1", "0"),
    ];
    for (name, target, size) in disks {
        link(&format!("sys/block/{name}/device"), target);
        write(&format!("sys/block/{name}/size"), &format!("{size}\n"));
        write(&format!("sys/block/{name}/queue/rotational"), if name == "sda" { "1\n" } else { "0\n" });
        write(&format!("sys/block/{name}/queue/logical_block_size"), "512\n");
    }
    let sda = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0";
    write(&format!("{sda}/vendor"), "ATA     \n");
    write(&format!("{sda}/model"), "QEMU HARDDISK   \n");
    write(&format!("{sda}/vpd_pg80"), "\0\u{1}\0\u{14}              QM00001");
    write(&format!("{sda}/wwid"), "naa.6000c29aabbccdd00112233445566778\n");
    write("sys/block/nvme0n1/wwid", "eui.0025388b710116a1\n");
    write("sys/block/nvme0n1/nsid", "1\n");
    write("sys/devices/pci0000:00/0000:00:05.0/nvme/nvme0/serial", "S3XYZ \n");
    write("sys/block/vda/vda1/start", "2048\n");
    write("sys/block/vda/vda1/size", "4096\n");
}

fn switch() -> Neighbour {
    Neighbour {
        switch_id: "00:1c:73:00:00:01".into(),
        port_id: "Ethernet7".into(),
        untagged: Some(10),
        vlans: vec![(10, "prov".into()), (20, String::new())],
        ..Neighbour::default()
    }
}

#[test]
fn the_whole_inventory() {
    let folder = machine();
    let known = Known {
        addresses: vec![("eth0".into(), Ipv4Addr::new(10, 77, 0, 80))],
        boot: Some([0x52, 0x54, 0, 0, 0, 2]),
        neighbours: BTreeMap::from([(3, switch())]),
    };
    let nic = |ip: &str| {
        json!({"name": "eth0", "mac": "52:54:00:00:00:02", "model": "0x1af4 0x0001", "speedGbps": 25, "pciAddress": "0000:00:03.0",
               "pxe": true, "ip": ip})
    };
    let expected = json!({
        "systemVendor": {"manufacturer": "QEMU", "productName": "Standard PC"},
        "firmware": {"bios": {"vendor": "SeaBIOS", "date": "04/01/2014"}},
        "ramMebibytes": 474,
        "cpu": {"arch": std::env::consts::ARCH, "model": "QEMU Virtual CPU", "clockMegahertz": 2445.0, "count": 2,
                "flags": ["apic", "fpu", "sse"]},
        "nics": [
            nic("10.77.0.80"), nic("fd00::1"),
            {"name": "eth1", "mac": "52:54:00:00:00:03", "model": "0x1af4 0x0001", "pciAddress": "0000:00:06.0", "pxe": false,
             "lldp": {"switchID": "00:1c:73:00:00:01", "portID": "Ethernet7"}, "vlanId": 10,
             "vlans": [{"id": 10, "name": "prov"}, {"id": 20}]},
        ],
        "storage": [
            {"name": "/dev/disk/by-path/pci-0000:00:05.0-nvme-1",
             "alternateNames": ["/dev/nvme0n1", "/dev/disk/by-path/pci-0000:00:05.0-nvme-1"],
             "type": "NVME", "rotational": false, "sizeBytes": 4294967296u64, "serialNumber": "S3XYZ",
             "wwn": "eui.0025388b710116a1", "wwnWithExtension": "eui.0025388b710116a1"},
            {"name": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
             "alternateNames": ["/dev/sda", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"],
             "type": "HDD", "rotational": true, "sizeBytes": 21474836480u64, "vendor": "ATA", "model": "QEMU HARDDISK",
             "serialNumber": "QM00001", "wwn": "0x6000c29aabbccdd0", "wwnVendorExtension": "0x0112233445566778",
             "wwnWithExtension": "0x6000c29aabbccdd00112233445566778", "hctl": "0:0:0:0"},
            {"name": "/dev/disk/by-path/pci-0000:00:04.0", "alternateNames": ["/dev/vda", "/dev/disk/by-path/pci-0000:00:04.0"],
             "type": "SSD", "rotational": false, "sizeBytes": 10737418240u64},
        ],
        "hostname": "localhost",
    });
    assert_eq!(inventory(folder.path(), &known), expected);
    let disks = disks(folder.path());
    assert_eq!(disks[2].partitions, [(1 << 20, 2 << 20)]);
}

#[test]
fn a_machine_that_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let found = inventory(folder.path(), &Known::default());
    assert_eq!(found["cpu"]["count"], 0);
    assert_eq!(found["nics"], json!([]));
    assert_eq!(found["storage"], json!([]));
}

#[test]
fn processors_of_a_hypervisor() {
    let folder = machine();
    assert!(!is_virtual(folder.path()));
    std::fs::write(folder.path().join("proc/cpuinfo"), "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n")
        .unwrap();
    assert!(is_virtual(folder.path()));
}
