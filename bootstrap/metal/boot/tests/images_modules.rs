//! Tests of `images::modules`.

use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use metal_boot::images::modules::{KernelModules, at_most, describe};
use metal_boot::limits::MODULE_BYTES_MAX;

/// Returns a minimal ELF file with a section `.modinfo`.
pub fn module(information: &[u8]) -> Vec<u8> {
    let names = b"\0.modinfo\0";
    let mut file = vec![0; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[18] = 62;
    let (information_at, names_at) = (64, 64 + information.len());
    let table = names_at + names.len();
    file.extend(information);
    file.extend(names);
    let mut header = |name: u32, offset: usize, length: usize| {
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[0x18..0x20].copy_from_slice(&(offset as u64).to_le_bytes());
        header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
        file.extend(header);
    };
    header(1, information_at, information.len());
    header(0, names_at, names.len());
    file[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
    file[0x3a..0x3c].copy_from_slice(&64u16.to_le_bytes());
    file[0x3c..0x3e].copy_from_slice(&2u16.to_le_bytes());
    file[0x3e..0x40].copy_from_slice(&1u16.to_le_bytes());
    file
}

#[test]
fn those_that_are_needed_and_what_they_depend_on() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, content: &[u8]| {
        let path = folder.path().join("kernel").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    let net = module(
        b"alias=virtio:d00000001v*\0depends=net_failover,built-in\0softdep=pre: crc-x post: y\0license=GPL\0",
    );
    write("drivers/net/virtio_net.ko.zst", &zstd::encode_all(&net[..], 3).unwrap());
    write("net/core/net-failover.ko", &module(b"depends=\0"));
    write("lib/crc-x.ko", &module(b""));
    write("lib/y.ko", &module(b""));
    write("drivers/scsi/scsi_debug.ko", &module(b""));
    write("drivers/net/virtio_net_other.ko", &module(b""));
    let modules = KernelModules::read(folder.path()).unwrap();
    let names: Vec<&str> = modules.index.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, ["crc_x", "net_failover", "virtio_net"]);
    assert_eq!(modules.index.wanted("virtio:d00000001v00001AF4"), ["virtio_net"]);
    let contents: Vec<_> = modules.contents().map(Result::unwrap).collect();
    assert_eq!(contents[2], ("virtio_net.ko", net));
}

#[test]
fn a_module_that_is_too_large_is_refused_and_not_cut() {
    const MOST: u64 = 1 << 20;
    for (length, expected) in [(MOST - 1, true), (MOST, true), (MOST + 1, false)] {
        let read = at_most(std::io::repeat(0).take(length), MOST);
        match read {
            Ok(content) => assert!(expected && content.len() as u64 == length, "{length}"),
            Err(error) => {
                assert!(!expected && error.to_string().contains("more than 1 MiB: strip"), "{error}")
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let ata = folder.path().join("kernel/drivers/ata");
    std::fs::create_dir_all(&ata).unwrap();
    let large = std::fs::File::create(ata.join("large.ko")).unwrap();
    large.set_len(MODULE_BYTES_MAX + 1).unwrap();
    let error = format!("{:#}", KernelModules::read(folder.path()).unwrap_err());
    assert!(error.contains("large.ko: it has more than 256 MiB"), "{error}");
}

#[test]
fn what_is_no_module_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let error = |folder: &Path| format!("{:#}", KernelModules::read(folder).unwrap_err());
    assert!(error(folder.path()).contains("has no folder `kernel`"));
    let ata = folder.path().join("kernel/drivers/ata");
    std::fs::create_dir_all(&ata).unwrap();
    assert!(error(folder.path()).contains("no modules for networks and disks"));
    std::fs::write(ata.join("x.ko"), b"\x7fELF nothing").unwrap();
    assert!(error(folder.path()).contains("x.ko is no kernel module"));
    for length in 0..200 {
        let whole = module(b"alias=a\0");
        let _ = describe(&whole[..length.min(whole.len())]);
    }
}
