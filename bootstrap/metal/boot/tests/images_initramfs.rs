//! Tests of `images::initramfs`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::Read as _;

use agent_protocol::Configuration;
use metal_boot::images::initramfs::{Compression, PROGRAM, write};
use metal_boot::images::modules::KernelModules;
use metal_boot::images::program::Entry;

/// Returns the names and contents of an archive.
fn unpack(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (mut at, mut found) = (0, Vec::new());
    loop {
        let field = |n: usize| {
            usize::from_str_radix(std::str::from_utf8(&archive[at + 6 + n * 8..at + 14 + n * 8]).unwrap(), 16)
                .unwrap()
        };
        assert_eq!(&archive[at..at + 6], b"070701");
        let (size, name) = (field(6), field(11));
        let text = String::from_utf8(archive[at + 110..at + 110 + name - 1].to_vec()).unwrap();
        let content = (at + 110 + name).next_multiple_of(4);
        if text == "TRAILER!!!" {
            return found;
        }
        found.push((text, archive[content..content + size].to_vec()));
        at = (content + size).next_multiple_of(4);
    }
}

#[test]
fn what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("kernel/drivers/ata");
    std::fs::create_dir_all(&kernel).unwrap();
    std::fs::write(kernel.join("ahci.ko"), crate::metal_boot::images_modules::module(b"alias=pci:v*\0"))
        .unwrap();
    let modules = KernelModules::read(folder.path()).unwrap();
    let source = folder.path().join("program");
    std::fs::write(&source, b"program").unwrap();
    let program = [
        Entry::File { path: PROGRAM.into(), source },
        Entry::Link { path: "/lib64/ld.so".into(), target: "../lib/ld.so".into() },
    ];
    let configuration =
        Configuration { servers: vec!["https://10.0.0.1:1".into()], ..Configuration::default() };
    for compression in [Compression::Zstd, Compression::Gzip] {
        let mut packed = Vec::new();
        write(&mut packed, &program, &modules, &configuration, compression).unwrap();
        let mut archive = Vec::new();
        match compression {
            Compression::Zstd => archive = zstd::decode_all(&packed[..]).unwrap(),
            Compression::Gzip => {
                let mut reader = flate2::read::GzDecoder::new(&packed[..]);
                reader.read_to_end(&mut archive).unwrap();
            }
        }
        let found = unpack(&archive);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "dev",
            "etc",
            "proc",
            "run",
            "sys",
            "tmp",
            "dev/console",
            "etc/firstlight",
            "etc/firstlight/agent.json",
            "etc/firstlight/modules.json",
            "lib",
            "lib/modules",
            "lib/modules/ahci.ko",
            "init",
            "lib64",
            "lib64/ld.so",
        ];
        assert_eq!(names, expected);
        let read: Configuration = serde_json::from_slice(&found[8].1).unwrap();
        assert_eq!(read, configuration);
        assert_eq!((found[13].1.as_slice(), found[15].1.as_slice()), (&b"program"[..], &b"../lib/ld.so"[..]));
    }
}
