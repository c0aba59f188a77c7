//! Tests of `images::assets`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::path::Path;

use crate::metal_boot::images_modules::module;
use metal_boot::images::assets::{Assets, NewAsset, SUMS};
use metal_boot::images::modules::KernelModules;

fn kernel(version: &str) -> Vec<u8> {
    let mut kernel = vec![0; 0x400];
    kernel[0x202..0x206].copy_from_slice(b"HdrS");
    kernel[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
    kernel[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
    kernel[0x300 + version.len()] = b' ';
    kernel
}

/// Returns a UEFI program for ARM.
fn efi(content: &[u8]) -> Vec<u8> {
    let mut program = vec![0; 0x80];
    program[..2].copy_from_slice(b"MZ");
    program[0x3c] = 0x40;
    program[0x40..0x46].copy_from_slice(b"PE\0\0\x64\xaa");
    program.extend(content);
    program
}

fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
fn unpacked_packages_of_three_distributions() {
    let from = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &[u8]| write(from.path(), path, content);
    put("debian/boot/vmlinuz-6.9.0-1-amd64", &kernel("6.9.0-1-amd64"));
    put("debian/boot/System.map-6.9.0-1-amd64", b"map");
    put("debian/lib/modules/6.9.0-1-amd64/kernel/drivers/ata/ahci.ko", &module(b"alias=pci:v*\0"));
    put("ubuntu/image/boot/vmlinuz-6.10.0-2-generic", &kernel("6.10.0-2-generic"));
    put(
        "ubuntu/modules/lib/modules/6.10.0-2-generic/kernel/drivers/ata/ahci.ko.zst",
        &zstd::encode_all(&module(b"")[..], 1).unwrap(),
    );
    put("fedora/lib/modules/6.8.5-301.fc40.x86_64/vmlinuz", &kernel("6.8.5-301.fc40.x86_64"));
    put("fedora/lib/modules/6.8.5-301.fc40.x86_64/kernel/drivers/ata/ahci.ko", &module(b""));
    put("usr/lib/systemd/boot/efi/linuxaa64.efi.stub", &efi(b"#### LoaderInfo: systemd-stub 252 ####"));
    put("usr/lib/ipxe/undionly.kpxe", b"program");
    put("usr/lib/ipxe/snp.efi", &efi(b""));
    let folder = tempfile::tempdir().unwrap();
    let assets = Assets::new(&folder.path().join("assets"));
    let added = assets.add(from.path()).unwrap();
    let expected = [
        "kernel 6.10.0-2-generic (x86_64)",
        "kernel 6.8.5-301.fc40.x86_64 (x86_64)",
        "kernel 6.9.0-1-amd64 (x86_64)",
        "1 modules of kernel 6.10.0-2-generic (x86_64)",
        "1 modules of kernel 6.8.5-301.fc40.x86_64 (x86_64)",
        "1 modules of kernel 6.9.0-1-amd64 (x86_64)",
        "stub of systemd (aarch64)",
        "iPXE snp-arm64.efi (aarch64)",
        "iPXE undionly.kpxe (x86_64)",
    ];
    assert_eq!(added, expected);
    let newest = assets.kernel("x86_64").unwrap();
    assert_eq!(newest.version, "6.10.0-2-generic");
    assert_eq!(KernelModules::read(&newest.modules).unwrap().index.modules.len(), 1);
    assert!(assets.stub("aarch64").is_some() && assets.stub("x86_64").is_none());
    let folders = ["x86_64/ipxe", "aarch64/ipxe"].map(|below| folder.path().join("assets").join(below));
    assert_eq!(assets.loaded(), folders);
    assert_eq!(assets.list().unwrap().len(), 9);
    assert_eq!(assets.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn damage_is_found() {
    let from = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let assets = Assets::new(folder.path());
    write(from.path(), "vmlinuz-1.2.3", &kernel("1.2.3"));
    write(from.path(), "undionly.kpxe", b"program");
    assets.add(&from.path().join("vmlinuz-1.2.3")).unwrap();
    assets.add(&from.path().join("undionly.kpxe")).unwrap();
    write(folder.path(), "x86_64/kernels/1.2.3/vmlinuz", b"another");
    std::fs::remove_file(folder.path().join("x86_64/ipxe/undionly.kpxe")).unwrap();
    let wrong = assets.verify().unwrap();
    assert!(
        wrong.len() == 2 && wrong[0].contains("undionly.kpxe") && wrong[1].contains("was added with"),
        "{wrong:?}"
    );
    assert!(assets.list().is_err());
    // A kernel without modules cannot boot the agent.
    assert_eq!(assets.kernel("x86_64"), None);
    write(folder.path(), SUMS, b"nothing\n");
    assert!(assets.verify().is_err());
}

#[test]
fn what_is_not_recognised_is_said() {
    let from = tempfile::tempdir().unwrap();
    write(from.path(), "readme", b"text");
    let assets = Assets::new(&from.path().join("assets"));
    let error = assets.add(from.path()).unwrap_err().to_string();
    assert!(error.contains("unpack a package first"), "{error}");
    assert!(assets.add(&from.path().join("missing")).is_err());
    assert_eq!(assets.list().unwrap(), []);
}

/// Returns a unified kernel image for x86-64.
fn unified() -> Vec<u8> {
    let mut stub = efi(b"");
    stub.resize(0x600, 0);
    stub[0x44..0x46].copy_from_slice(b"\x64\x86");
    stub[0x54..0x56].copy_from_slice(&240u16.to_le_bytes());
    stub[0x58..0x5a].copy_from_slice(&0x20bu16.to_le_bytes());
    stub[0x58 + 36..0x58 + 40].copy_from_slice(&0x200u32.to_le_bytes());
    let parts = metal_boot::images::uki::Parts {
        stub,
        release: String::new(),
        arguments: String::new(),
        kernel: vec![1; 100].into(),
        initramfs: vec![2; 100].into(),
    };
    let mut image = Vec::new();
    metal_boot::images::uki::assemble(parts).unwrap().write(&mut image).unwrap();
    image
}

#[test]
fn what_the_site_has_signed_and_agents_for_other_machines() {
    let from = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let assets = Assets::new(folder.path());
    let mut image = unified();
    write(from.path(), "firstlight.efi", &image);
    let error = assets.add(&from.path().join("firstlight.efi")).unwrap_err().to_string();
    assert!(error.contains("without a signature") && error.contains("sbsign"), "{error}");
    image[0x58 + 112 + 36] = 8;
    write(from.path(), "firstlight.efi", &image);
    let mut agent = vec![0; 64];
    agent[..6].copy_from_slice(b"\x7fELF\x02\x01");
    agent[18] = 183;
    write(from.path(), "firstlight-agent-arm", &agent);
    let before = assets.state("x86_64").unwrap();
    assert_eq!(assets.add(from.path()).unwrap(), ["signed unified kernel image (x86_64)", "agent (aarch64)"]);
    assert!(assets.signed("x86_64").is_some() && assets.signed("aarch64").is_none());
    assert!(assets.agent("aarch64").is_some() && assets.agent("x86_64").is_none());
    assert!(before.is_empty() && assets.state("x86_64").unwrap().contains(" x86_64/signed.efi\n"));
}

/// Returns a UEFI program for x86-64.
fn efi_x86() -> Vec<u8> {
    let mut program = efi(b"");
    program[0x44..0x46].copy_from_slice(&[0x64, 0x86]);
    program
}

/// The boot programs in packages, by the packages' file lists: Debian's ipxe 1.0.0 (bookworm) and 1.21.1 (trixie) and raspi-firmware,
/// Fedora's ipxe-bootimgs-x86 and -aarch64, Ubuntu's linux-firmware-raspi. Each file has the path under which it is expected, or
/// `None`.
#[test]
fn boot_programs_of_packages() {
    type Files<'a> = &'a [(&'a str, Option<&'a str>)];
    let packages: [(&str, Files<'_>); 5] = [
        (
            "Debian 12",
            &[
                ("usr/lib/ipxe/ipxe.efi", Some("x86_64/ipxe/ipxe.efi")),
                ("usr/lib/ipxe/ipxe.iso", None),
                ("usr/lib/ipxe/ipxe.lkrn", Some("x86_64/ipxe/ipxe.lkrn")),
                ("usr/lib/ipxe/ipxe.pxe", Some("x86_64/ipxe/ipxe.pxe")),
                ("usr/lib/ipxe/snponly.efi", Some("x86_64/ipxe/snponly.efi")),
                ("usr/lib/ipxe/undionly.kkpxe", Some("x86_64/ipxe/undionly.kkpxe")),
                ("usr/lib/ipxe/undionly.kpxe", Some("x86_64/ipxe/undionly.kpxe")),
            ],
        ),
        (
            "Debian 13",
            &[
                ("usr/lib/ipxe/ipxe-amd64.efi", Some("x86_64/ipxe/ipxe.efi")),
                ("usr/lib/ipxe/ipxe-arm64.efi", Some("aarch64/ipxe/ipxe-arm64.efi")),
                ("usr/lib/ipxe/ipxe-riscv64.efi", None),
                ("usr/lib/ipxe/snponly.efi", Some("x86_64/ipxe/snponly.efi")),
                ("usr/lib/ipxe/undionly.kpxe", Some("x86_64/ipxe/undionly.kpxe")),
            ],
        ),
        (
            "Fedora",
            &[
                ("usr/share/ipxe/ipxe-x86_64.efi", Some("x86_64/ipxe/ipxe.efi")),
                ("usr/share/ipxe/ipxe-snponly-x86_64.efi", Some("x86_64/ipxe/snponly.efi")),
                ("usr/share/ipxe/undionly.kpxe", Some("x86_64/ipxe/undionly.kpxe")),
                ("usr/share/ipxe/arm64-efi/snponly.efi", Some("aarch64/ipxe/snp-arm64.efi")),
            ],
        ),
        (
            "Debian's raspi-firmware and linux-image-arm64",
            &[
                ("usr/lib/raspi-firmware/bootcode.bin", Some("aarch64/raspberry-pi/bootcode.bin")),
                ("usr/lib/raspi-firmware/fixup4.dat", Some("aarch64/raspberry-pi/fixup4.dat")),
                ("usr/lib/raspi-firmware/fixup_cd.dat", Some("aarch64/raspberry-pi/fixup_cd.dat")),
                ("usr/lib/raspi-firmware/start4.elf", Some("aarch64/raspberry-pi/start4.elf")),
                ("usr/lib/raspi-firmware/overlays/README.md", None),
                ("usr/lib/firmware/brcm/brcmfmac43456-sdio.bin", None),
                (
                    "usr/lib/linux-image-6.1.0-32-arm64/broadcom/bcm2711-rpi-4-b.dtb",
                    Some("aarch64/raspberry-pi/bcm2711-rpi-4-b.dtb"),
                ),
                ("usr/lib/linux-image-6.1.0-32-arm64/allwinner/sun50i-a64-pine64.dtb", None),
            ],
        ),
        (
            "Ubuntu's linux-firmware-raspi",
            &[
                ("usr/lib/linux-firmware-raspi/start4.elf", Some("aarch64/raspberry-pi/start4.elf")),
                ("usr/lib/linux-firmware-raspi/fixup4.dat", Some("aarch64/raspberry-pi/fixup4.dat")),
            ],
        ),
    ];
    for (package, files) in packages {
        let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (path, _) in files {
            let is_arm = path.contains("arm64") || path.contains("riscv64");
            let mut content = if is_arm { efi(b"") } else { efi_x86() };
            if path.contains("riscv64") {
                content[0x44..0x46].copy_from_slice(&[0x64, 0x50]);
            }
            write(from.path(), path, if path.ends_with(".efi") { &content } else { b"a part" });
        }
        let assets = Assets::new(folder.path());
        assets.add(from.path()).unwrap();
        let found: Vec<String> = assets.list().unwrap().into_iter().map(|asset| asset.path).collect();
        let mut expected: Vec<&str> = files.iter().filter_map(|(_, to)| *to).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{package}");
    }
}

#[test]
fn files_with_known_checksums_are_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let assets = Assets::new(folder.path());
    let digest = |content: &[u8]| {
        let mut sum = String::new();
        for byte in ring::digest::digest(&ring::digest::SHA256, content).as_ref() {
            sum.push_str(&format!("{byte:02x}"));
        }
        sum
    };
    let take = |path: &str, expected: &[u8], content: &'static [u8]| {
        let file = NewAsset { path: path.into(), sha256: digest(expected), content: Box::new(content) };
        assets.take_all([file].into_iter())
    };
    let path = "x86_64/kernels/1/vmlinuz";
    assert_eq!([take(path, b"a", b"a").unwrap(), take(path, b"a", b"a").unwrap()], [1, 0]);
    assert_eq!(take(path, b"b", b"b").unwrap(), 1, "another content replaces it");
    assert_eq!(assets.verify().unwrap(), Vec::<String>::new());
    let refused = take(path, b"c", b"damaged").unwrap_err();
    assert!(format!("{refused:#}").contains("it is damaged"));
    assert_eq!(assets.verify().unwrap(), Vec::<String>::new(), "the former file stays");
    std::fs::write(folder.path().join(path), "lost").unwrap();
    assert_eq!(take(path, b"b", b"b").unwrap(), 1, "a damaged file is written again");
    assert_eq!(assets.verify().unwrap(), Vec::<String>::new());
    assert!(take("../outside", b"c", b"c").unwrap_err().to_string().contains("leads out of the folder"));
}
