//! What a file of a site is, told by its content and its name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use metal_boot::offer;

use crate::{program, uki};

/// Bytes that are looked at. A stub of systemd has all of its sections in them.
const LOOK: u64 = 256 << 10;
/// What systemd's stub has in its section `.sdmagic`.
const STUB: &[u8] = b"#### LoaderInfo: systemd-stub";
/// Programs of iPXE for BIOS, as Debian, Ubuntu, Fedora and its own site call them.
const IPXE_BIOS: [&str; 4] = ["undionly.kpxe", "undionly.kkpxe", "ipxe.pxe", "ipxe.lkrn"];
/// Those for UEFI that use the firmware's drivers.
const IPXE_SNP: [&str; 7] = [
    "snponly.efi",
    "snp.efi",
    "snp-x86_64.efi",
    "snp-arm64.efi",
    "snponly-arm64.efi",
    "ipxe-snponly-x86_64.efi",
    "ipxe-snponly-aarch64.efi",
];
/// Those for UEFI with drivers of their own.
const IPXE_EFI: [&str; 5] =
    ["ipxe.efi", "ipxe-x86_64.efi", "ipxe-amd64.efi", "ipxe-arm64.efi", "ipxe-aarch64.efi"];

/// The architecture of a program of iPXE, and the name under which machines are told of it.
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

/// Whether a Raspberry Pi's boot loader asks for a file of this name: its own parts (Debian's raspi-firmware, Ubuntu's
/// linux-firmware-raspi), and the descriptions of the boards, which a kernel's package has.
fn is_raspberry_pi(name: &str) -> bool {
    let between = |first: &str, last: &str| name.starts_with(first) && name.ends_with(last);
    name == "bootcode.bin"
        || between("start", ".elf")
        || between("fixup", ".dat")
        || (between("bcm27", ".dtb") && name.contains("-rpi-"))
}

/// How the agent's program is called; what follows is the site's.
const AGENT: &str = "firstlight-agent";

/// Something that a site has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// A kernel.
    Kernel {
        /// `x86_64`
        architecture: String,
        /// `6.1.0-56-cloud-amd64`
        version: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A kernel's modules.
    Modules {
        /// Of which kernel.
        version: String,
        /// `…/lib/modules/VERSION`
        path: PathBuf,
    },
    /// systemd's stub.
    Stub {
        /// `x86_64`
        architecture: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A unified kernel image with a signature.
    Signed {
        /// `x86_64`
        architecture: String,
        /// Where it is.
        path: PathBuf,
    },
    /// The agent.
    Agent {
        /// `x86_64`
        architecture: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A boot program of iPXE.
    Ipxe {
        /// `x86_64`
        architecture: String,
        /// `undionly.kpxe`
        name: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A file of a Raspberry Pi's boot loader.
    RaspberryPi {
        /// `start4.elf`
        name: String,
        /// Where it is.
        path: PathBuf,
    },
}

/// What there is in a file, or anywhere below a folder.
///
/// # Errors
/// It cannot be read.
pub fn recognise(path: &Path) -> Result<Vec<Found>> {
    let mut found = BTreeMap::new();
    // What the user names may be a link; those within are not followed.
    let path = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    visit(&path, &mut found)?;
    let mut found: Vec<Found> = found.into_keys().collect();
    found.sort();
    Ok(found)
}

fn visit(path: &Path, found: &mut BTreeMap<Found, ()>) -> Result<()> {
    let cannot = || format!("cannot read {}", path.display());
    // A link would lead out of the folder, or to what is found anyway.
    let kind = std::fs::symlink_metadata(path).with_context(cannot)?.file_type();
    if kind.is_file() {
        found.extend(file(path)?.map(|found| (found, ())));
    } else if kind.is_dir() {
        let version = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.join("kernel").is_dir() && is_version(version) {
            found.insert(Found::Modules { version: version.to_owned(), path: path.to_owned() }, ());
            // Fedora has the kernel here.
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

/// Versions of kernels begin with a number.
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

/// What a program of UEFI runs on.
fn machine(head: &[u8]) -> Option<&'static str> {
    let at = u32::from_le_bytes(head.get(0x3c..0x40)?.try_into().ok()?) as usize;
    let header = head.get(at..at.checked_add(6)?)?;
    match (head.get(..2)?, &header[..4], u16::from_le_bytes([header[4], header[5]])) {
        (b"MZ", b"PE\0\0", 0x8664) => Some("x86_64"),
        (b"MZ", b"PE\0\0", 0xaa64) => Some("aarch64"),
        _ => None,
    }
}

/// What a program of Linux runs on, when it needs no loader.
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

/// What a kernel runs on (Documentation/arch/x86/boot.rst, arm64/booting.rst of Linux); `None` for what is no kernel.
fn kernel(head: &[u8]) -> Option<&'static str> {
    if head.get(0x202..0x206) == Some(b"HdrS") {
        return Some("x86_64");
    }
    // An EFI "zboot" image is a kernel compressed by itself.
    let plain = head.get(0x38..0x3c) == Some(b"ARM\x64");
    (plain || head.get(4..8) == Some(b"zimg")).then_some("aarch64")
}

/// The version in the header of a kernel of x86.
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
