//! Sets the boot order of UEFI by its variables (UEFI specification, 3.1 and 10.3).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

use crate::deploy::EfiSystem;

/// The folder of the firmware's variables.
pub const VARIABLES: &str = "/sys/firmware/efi/efivars";
/// The GUID of the namespace of the boot variables.
const GLOBAL: &str = "8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// The attributes of the variables: non-volatile, and accessible at boot time and at run time.
pub const ATTRIBUTES: [u8; 4] = [7, 0, 0, 0];
/// The description of the agent's boot entry, by which a later installation finds and replaces it.
pub const DESCRIPTION: &str = "firstlight";
const ACTIVE: u32 = 1;
/// The loader of removable disks, which portable images contain.
const LOADER: &str =
    if cfg!(target_arch = "aarch64") { "\\EFI\\BOOT\\BOOTAA64.EFI" } else { "\\EFI\\BOOT\\BOOTX64.EFI" };

/// The UEFI variables of the machine's firmware.
pub struct Firmware(PathBuf);

impl Firmware {
    /// Returns the variables in `folder`; `None` if the machine was not booted by UEFI.
    pub fn find(folder: &Path) -> Option<Self> {
        folder.is_dir().then(|| Self(folder.to_owned()))
    }

    /// Makes this partition the first boot option.
    ///
    /// # Errors
    /// The firmware refuses a variable or has no free entry.
    pub fn boot_first(&self, partition: &EfiSystem) -> Result<()> {
        let number =
            self.own().or_else(|| self.free()).context("the firmware has no room for a boot entry")?;
        self.write(&entry_name(number), &entry(partition))?;
        let mut order = vec![number];
        order.extend(self.order().into_iter().filter(|other| *other != number));
        self.set_order(&order)
    }

    /// Removes the boot entry of the installed system.
    ///
    /// # Errors
    /// The firmware refuses to change the order or to delete the entry.
    pub fn forget(&self) -> Result<()> {
        let Some(number) = self.own() else { return Ok(()) };
        let order: Vec<u16> = self.order().into_iter().filter(|other| *other != number).collect();
        self.set_order(&order)?;
        let path = self.path(&entry_name(number));
        make_writable(&path);
        std::fs::remove_file(&path).context("the firmware keeps the boot entry")
    }

    /// Returns the numbers of the boot entries in their order.
    pub fn order(&self) -> Vec<u16> {
        let bytes = self.read("BootOrder").unwrap_or_default();
        bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
    }

    fn set_order(&self, order: &[u16]) -> Result<()> {
        if order == self.order() {
            return Ok(());
        }
        let bytes: Vec<u8> = order.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.write("BootOrder", &bytes)
    }

    /// Returns the number of the entry that an earlier installation made.
    fn own(&self) -> Option<u16> {
        let wanted = utf16(DESCRIPTION);
        let entries = crate::inventory::names(&self.0);
        let numbers = entries.iter().filter_map(|name| {
            let (name, space) = name.split_once('-')?;
            let digits = name.strip_prefix("Boot").filter(|digits| digits.len() == 4 && space == GLOBAL)?;
            u16::from_str_radix(digits, 16).ok()
        });
        numbers.into_iter().find(|number| {
            self.read(&entry_name(*number))
                .is_some_and(|entry| entry.get(6..6 + wanted.len()) == Some(&wanted))
        })
    }

    fn free(&self) -> Option<u16> {
        (0..u16::MAX).find(|number| !self.path(&entry_name(*number)).exists())
    }

    /// Returns the file of a variable.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}-{GLOBAL}"))
    }

    /// Returns the value of a variable; `None` if it does not exist.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = std::fs::read(self.path(name)).ok()?;
        (bytes.len() >= 4).then(|| bytes.split_off(4))
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// The firmware refuses it.
    pub fn write(&self, name: &str, value: &[u8]) -> Result<()> {
        let path = self.path(name);
        make_writable(&path);
        // A variable must be written by a single call, with the attributes first.
        let bytes = [&ATTRIBUTES, value].concat();
        let open = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let mut file = open.with_context(|| format!("cannot open the firmware's variable {name}"))?;
        file.write_all(&bytes).with_context(|| format!("the firmware refuses the variable {name}"))
    }
}

/// Removes the immutable flag, with which the kernel protects variables from accidental writes.
fn make_writable(path: &Path) {
    if let Ok(file) = File::open(path)
        && let Ok(flags) = ioctl_getflags(&file)
    {
        // If this fails, the following write fails too and reports the reason.
        let _ = ioctl_setflags(&file, flags - IFlags::IMMUTABLE);
    }
}

fn entry_name(number: u16) -> String {
    format!("Boot{number:04X}")
}

/// Returns a text as firmware stores it, with a zero at its end.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns a load option: attributes, length of the device path, description, device path.
fn entry(partition: &EfiSystem) -> Vec<u8> {
    let path = device_path(partition);
    let mut entry = ACTIVE.to_le_bytes().to_vec();
    entry.extend((path.len() as u16).to_le_bytes());
    entry.extend(utf16(DESCRIPTION));
    entry.extend(path);
    entry
}

/// Returns a device path: the partition by its GUID, the file on it, the end.
fn device_path(partition: &EfiSystem) -> Vec<u8> {
    const PARTITION_LENGTH: u16 = 42;
    let mut path = vec![4, 1];
    path.extend(PARTITION_LENGTH.to_le_bytes());
    path.extend(partition.number.to_le_bytes());
    path.extend(partition.start.to_le_bytes());
    path.extend(partition.length.to_le_bytes());
    path.extend(partition.guid);
    // Format of the partition table: GPT; type of the signature: GUID.
    path.extend([2, 2]);
    let file = utf16(LOADER);
    path.extend([4, 4]);
    path.extend((file.len() as u16 + 4).to_le_bytes());
    path.extend(file);
    path.extend([0x7f, 0xff, 4, 0]);
    path
}
