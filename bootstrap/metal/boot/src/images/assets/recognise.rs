//! Recognises files of a site by content and name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::offer;
use anyhow::{Context, Result, ensure};

use crate::images::{program, uki};

/// The number of bytes that are examined. The sections of systemd's stub all lie within them.
const LOOK: u64 = 256 << 10;
/// The content of the section `.sdmagic` of systemd's stub.
const STUB: &[u8] = b"#### LoaderInfo: systemd-stub";
/// iPXE programs for BIOS, as Debian, Ubuntu, Fedora and ipxe.org name them.
const IPXE_BIOS: [&str; 4] = ["undionly.kpxe", "undionly.kkpxe", "ipxe.pxe", "ipxe.lkrn"];
/// iPXE programs for UEFI that use the firmware's drivers.
const IPXE_SNP: [&str; 7] = [
    "snponly.efi",
    "snp.efi",
    "snp-x86_64.efi",
    "snp-arm64.efi",
    "snponly-arm64.efi",
    "ipxe-snponly-x86_64.efi",
    "ipxe-snponly-aarch64.efi",
];
/// iPXE programs for UEFI with their own drivers.
const IPXE_EFI: [&str; 5] =
    ["ipxe.efi", "ipxe-x86_64.efi", "ipxe-amd64.efi", "ipxe-arm64.efi", "ipxe-aarch64.efi"];

/// Returns the architecture of an iPXE program, and the name under which it is served.
fn ipxe(name: &str, machine: Option<&'static str>) -> Option<(&'static str, &'static str)> {
    if let Some(name) = IPXE_BIOS.iter().find(|known| **known == name) {
        return Some(("x86_64", name));
    }
    let [snp, own] = match machine? {
        "x86_64" => offer::IPXE_UEFI,
        _ => offer::IPXE_UEFI_ARM,
    };
    let is_snp = IPXE_SNP.contains(&name);
    (is_snp || IPXE_EFI.contains(&name)).then_some((machine?, if is_snp { snp } else { own }))
}

/// Returns whether a Raspberry Pi's boot loader asks for a file of this name: its own parts (Debian's raspi-firmware, Ubuntu's
/// linux-firmware-raspi), and the device trees, which are in the kernel's package.
fn is_raspberry_pi(name: &str) -> bool {
    let between = |first: &str, last: &str| name.starts_with(first) && name.ends_with(last);
    name == "bootcode.bin"
        || between("start", ".elf")
        || between("fixup", ".dat")
        || (between("bcm27", ".dtb") && name.contains("-rpi-"))
}

/// The prefix of the file name of the agent's program.
const AGENT: &str = "firstlight-agent";

/// A recognised file or folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// A kernel.
    Kernel {
        /// The architecture, for example `x86_64`.
        architecture: String,
        /// The version, for example `6.1.0-56-cloud-amd64`.
        version: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// A kernel's modules.
    Modules {
        /// The version of the kernel.
        version: String,
        /// The folder, for example `…/lib/modules/VERSION`.
        path: PathBuf,
    },
    /// systemd's stub.
    Stub {
        /// The architecture, for example `x86_64`.
        architecture: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// A signed unified kernel image.
    Signed {
        /// The architecture, for example `x86_64`.
        architecture: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// The agent's program.
    Agent {
        /// The architecture, for example `x86_64`.
        architecture: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// A boot program of iPXE.
    Ipxe {
        /// The architecture, for example `x86_64`.
        architecture: String,
        /// The name under which it is served, for example `undionly.kpxe`.
        name: String,
        /// The path of the file.
        path: PathBuf,
    },
    /// A file of a Raspberry Pi's boot loader.
    RaspberryPi {
        /// The file name, for example `start4.elf`.
        name: String,
        /// The path of the file.
        path: PathBuf,
    },
}

/// Returns the recognised files in a file or in a folder with its subfolders, sorted.
///
/// # Errors
/// The file or folder cannot be read; a kernel has no recognisable version; a unified kernel image is not signed.
pub fn recognise(path: &Path) -> Result<Vec<Found>> {
    let mut found = BTreeMap::new();
    // The given path may be a symbolic link; links inside the folder are not followed.
    let path = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    visit(&path, &mut found)?;
    let mut found: Vec<Found> = found.into_keys().collect();
    found.sort();
    Ok(found)
}

fn visit(path: &Path, found: &mut BTreeMap<Found, ()>) -> Result<()> {
    let cannot = || format!("cannot read {}", path.display());
    // A symbolic link would lead out of the folder, or to a file that is found anyway.
    let kind = std::fs::symlink_metadata(path).with_context(cannot)?.file_type();
    if kind.is_file() {
        found.extend(file(path)?.map(|found| (found, ())));
    } else if kind.is_dir() {
        let version = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.join("kernel").is_dir() && is_version(version) {
            found.insert(Found::Modules { version: version.to_owned(), path: path.to_owned() }, ());
            // Fedora stores the kernel in the folder of its modules.
            let kernel = path.join("vmlinuz");
            if kernel.is_file() {
                found.extend(file(&kernel)?.map(|found| (found, ())));
            }
            return Ok(());
        }
        for entry in std::fs::read_dir(path).with_context(cannot)? {
            visit(&entry?.path(), found)?;
        }
    }
    Ok(())
}

/// Returns whether the name begins with a digit and contains a dot, as versions of kernels do.
fn is_version(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit()) && name.contains('.')
}

fn file(path: &Path) -> Result<Option<Found>> {
    let cannot = || format!("cannot read {}", path.display());
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(LOOK).read_to_end(&mut head)).with_context(cannot)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let machine = machine(&head);
    if let Some((architecture, name)) = ipxe(name, machine) {
        let (architecture, name) = (architecture.to_owned(), name.to_owned());
        return Ok(Some(Found::Ipxe { architecture, name, path: path.to_owned() }));
    }
    if is_raspberry_pi(name) {
        return Ok(Some(Found::RaspberryPi { name: name.to_owned(), path: path.to_owned() }));
    }
    if name.starts_with(AGENT) {
        return Ok(agent(&head).map(|architecture| Found::Agent {
            architecture: architecture.to_owned(),
            path: path.to_owned(),
        }));
    }
    if let Some(architecture) = machine
        && uki::is_unified(&head)
    {
        ensure!(
            uki::is_signed(&head),
            "{} is a unified kernel image without a signature: firstlight makes such images by itself; add it after sbsign",
            path.display()
        );
        return Ok(Some(Found::Signed { architecture: architecture.to_owned(), path: path.to_owned() }));
    }
    if let Some(architecture) = machine
        && head.windows(STUB.len()).any(|window| window == STUB)
    {
        return Ok(Some(Found::Stub { architecture: architecture.to_owned(), path: path.to_owned() }));
    }
    let Some(architecture) = kernel(&head) else { return Ok(None) };
    let parent = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let version = own_version(&head)
        .or_else(|| name.strip_prefix("vmlinuz-").map(str::to_owned))
        .or_else(|| is_version(parent).then(|| parent.to_owned()));
    let version = version.with_context(|| {
        format!("{} is a kernel that does not say its version; call it vmlinuz-VERSION", path.display())
    })?;
    Ok(Some(Found::Kernel { architecture: architecture.to_owned(), version, path: path.to_owned() }))
}

/// Returns the architecture of a UEFI program.
fn machine(head: &[u8]) -> Option<&'static str> {
    let at = u32::from_le_bytes(head.get(0x3c..0x40)?.try_into().ok()?) as usize;
    let header = head.get(at..at.checked_add(6)?)?;
    match (head.get(..2)?, &header[..4], u16::from_le_bytes([header[4], header[5]])) {
        (b"MZ", b"PE\0\0", 0x8664) => Some("x86_64"),
        (b"MZ", b"PE\0\0", 0xaa64) => Some("aarch64"),
        _ => None,
    }
}

/// Returns the architecture of a Linux program that needs no dynamic loader.
fn agent(head: &[u8]) -> Option<&'static str> {
    if head.get(..6)? != b"\x7fELF\x02\x01" || program::loader(head).is_some() {
        return None;
    }
    match u16::from_le_bytes(head.get(18..20)?.try_into().ok()?) {
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        _ => None,
    }
}

/// Returns the architecture of a kernel (Linux: Documentation/arch/x86/boot.rst, arm64/booting.rst), or `None` if it is not a kernel.
fn kernel(head: &[u8]) -> Option<&'static str> {
    if head.get(0x202..0x206) == Some(b"HdrS") {
        return Some("x86_64");
    }
    // An EFI "zboot" image is a kernel that decompresses itself.
    let plain = head.get(0x38..0x3c) == Some(b"ARM\x64");
    (plain || head.get(4..8) == Some(b"zimg")).then_some("aarch64")
}

/// Returns the version in the header of an x86 kernel.
fn own_version(head: &[u8]) -> Option<String> {
    if head.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let at = usize::from(u16::from_le_bytes(head.get(0x20e..0x210)?.try_into().ok()?)) + 0x200;
    let text = head.get(at..)?.split(|byte| *byte == 0 || *byte == b' ').next()?;
    let text = std::str::from_utf8(text).ok()?;
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._+~-".contains(c));
    (plain && is_version(text)).then(|| text.to_owned())
}
