//! Reads the machine's disks from sysfs.

use std::path::Path;

use serde_json::{Value, json};

use super::addresses::{by_path, parts};
use super::files::{names, text};

/// The unit of `/sys/block/*/size` in bytes, independent of the disk's block size.
const SYSFS_BLOCK: u64 = 512;
/// Prefixes of block devices that are not physical disks: memory, files, optical and floppy drives, and devices made of disks.
const NO_DISKS: &[&str] = &["loop", "ram", "zram", "sr", "fd", "dm-", "md", "nbd", "mtdblock", "drbd", "rbd"];

/// The kind of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A rotating disk.
    #[default]
    Hdd,
    /// A disk that does not rotate.
    Ssd,
    /// An NVMe disk.
    Nvme,
}

/// A disk of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// The device name, for example `/dev/vda`.
    pub name: String,
    /// The names in `/dev/disk/by-path`, the preferred one first.
    pub by_path: Vec<String>,
    /// The kind of the disk.
    pub kind: Kind,
    /// Whether the disk rotates.
    pub rotational: bool,
    /// The size in bytes.
    pub size: u64,
    /// The logical block size in bytes.
    pub block: u64,
    /// The vendor.
    pub vendor: Option<String>,
    /// The model name.
    pub model: Option<String>,
    /// The serial number.
    pub serial: Option<String>,
    /// The world wide name.
    pub wwn: Option<String>,
    /// The vendor extension of the world wide name.
    pub wwn_vendor_extension: Option<String>,
    /// The world wide name with its vendor extension.
    pub wwn_with_extension: Option<String>,
    /// The SCSI address: host, channel, target, logical unit.
    pub hctl: Option<String>,
    /// Whether the disk is removable (a USB stick, a card, virtual media of the BMC).
    pub removable: bool,
    /// Whether the disk is read-only.
    pub read_only: bool,
    /// The partitions as (start, length) in bytes.
    pub partitions: Vec<(u64, u64)>,
}

impl Disk {
    /// Returns the disk's entry in `storage` of Metal3's hardware details.
    pub fn describe(&self) -> Value {
        let kind = match self.kind {
            Kind::Hdd => "HDD",
            Kind::Ssd => "SSD",
            Kind::Nvme => "NVME",
        };
        let mut names = vec![self.name.clone()];
        names.extend(self.by_path.first().cloned());
        json!({
            "name": self.by_path.first().unwrap_or(&self.name),
            "alternateNames": names,
            "type": kind,
            "rotational": self.rotational,
            "sizeBytes": self.size,
            "vendor": self.vendor,
            "model": self.model,
            "serialNumber": self.serial,
            "wwn": self.wwn,
            "wwnVendorExtension": self.wwn_vendor_extension,
            "wwnWithExtension": self.wwn_with_extension,
            "hctl": self.hctl,
        })
    }
}

/// Returns the disks of the machine whose files are below `root`, sorted by name.
pub fn disks(root: &Path) -> Vec<Disk> {
    let folder = root.join("sys/block");
    let named =
        names(&folder).into_iter().filter(|name| !NO_DISKS.iter().any(|prefix| name.starts_with(prefix)));
    let read = named.filter_map(|name| disk(&folder.join(&name), &name));
    // The paths of a multipath NVMe disk, which cannot be used directly, have the size 0.
    read.filter(|disk| disk.size > 0).collect()
}

fn disk(folder: &Path, name: &str) -> Option<Disk> {
    let read = |path: &str| text(&folder.join(path));
    let number = |path: &str| read(path).and_then(|text| text.parse::<u64>().ok());
    let place = parts(&folder.join("device"));
    let nvme = name.starts_with("nvme");
    let namespace = nvme.then(|| read("nsid")).flatten().or_else(|| namespace(name));
    let rotational = number("queue/rotational") == Some(1);
    let hctl =
        place.last().filter(|part| part.split(':').count() == 4 && !nvme && !part.contains('.')).cloned();
    let wwid = read("wwid").or_else(|| read("device/wwid"));
    let (wwn, wwn_vendor_extension, wwn_with_extension) = world_wide_names(wwid.as_deref());
    let kind = match (nvme, rotational) {
        (true, _) => Kind::Nvme,
        (false, true) => Kind::Hdd,
        (false, false) => Kind::Ssd,
    };
    let partitions = names(folder).into_iter().filter(|part| part.starts_with(name)).filter_map(|part| {
        let start = number(&format!("{part}/start"))?.checked_mul(SYSFS_BLOCK)?;
        Some((start, number(&format!("{part}/size"))?.checked_mul(SYSFS_BLOCK)?))
    });
    Some(Disk {
        name: format!("/dev/{}", name.replace('!', "/")),
        by_path: by_path(&place, namespace.as_deref()),
        kind,
        rotational,
        size: number("size")?.checked_mul(SYSFS_BLOCK)?,
        block: number("queue/logical_block_size").unwrap_or(SYSFS_BLOCK),
        vendor: read("device/vendor"),
        model: read("device/model"),
        serial: serial(folder),
        wwn,
        wwn_vendor_extension,
        wwn_with_extension,
        hctl,
        removable: number("removable") == Some(1),
        read_only: number("ro") == Some(1),
        partitions: partitions.collect(),
    })
}

/// Returns the namespace number of a name like `nvme0n1`: the digits after the last `n`.
fn namespace(name: &str) -> Option<String> {
    let (controller, namespace) = name.strip_prefix("nvme")?.rsplit_once('n')?;
    (!controller.is_empty() && !namespace.is_empty()).then(|| namespace.to_owned())
}

fn serial(folder: &Path) -> Option<String> {
    let page = std::fs::read(folder.join("device/vpd_pg80")).ok();
    // The SCSI page "unit serial number": four bytes of header, then the number.
    let scsi = page.and_then(|page| {
        let number = String::from_utf8_lossy(page.get(4..)?)
            .trim_matches(|c: char| c.is_whitespace() || c == '\0')
            .to_owned();
        (!number.is_empty()).then_some(number)
    });
    scsi.or_else(|| text(&folder.join("serial"))).or_else(|| text(&folder.join("device/serial")))
}

/// Returns `ID_WWN`, `ID_WWN_VENDOR_EXTENSION` and `ID_WWN_WITH_EXTENSION`, as udev derives them from a disk's WWID.
fn world_wide_names(wwid: Option<&str>) -> (Option<String>, Option<String>, Option<String>) {
    let Some(wwid) = wwid else { return (None, None, None) };
    let Some(hexadecimal) = wwid.strip_prefix("naa.").filter(|text| text.is_ascii() && text.len() >= 16)
    else {
        let nvme = ["eui.", "nvme.", "uuid."].iter().any(|prefix| wwid.starts_with(prefix));
        return if nvme { (Some(wwid.to_owned()), None, Some(wwid.to_owned())) } else { (None, None, None) };
    };
    let (name, extension) = hexadecimal.split_at(16);
    let extension = (!extension.is_empty()).then(|| format!("0x{extension}"));
    (Some(format!("0x{name}")), extension, Some(format!("0x{hexadecimal}")))
}
