//! The inventory of the machine, in the format of Metal3's `HardwareData.spec.hardware`.
//!
//! All data are read from files below a root folder (`/sys`, `/proc`), so that tests can use recorded trees.

mod addresses;
pub mod disks;
mod memory;
mod nics;
mod processor;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

pub use disks::{Disk, Kind};

use crate::network::lldp::Neighbour;

/// Data about the network that are not in the files.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The IPv4 addresses, with the names of their interfaces.
    pub addresses: Vec<(String, Ipv4Addr)>,
    /// The MAC address of the interface that the machine booted from.
    pub boot: Option<[u8; 6]>,
    /// The switches at the other ends of the cables, by interface index.
    pub neighbours: BTreeMap<u32, Neighbour>,
}

/// Returns the inventory of the machine whose files are below `root`.
pub fn inventory(root: &Path, known: &Known) -> Value {
    let files = Files(root.to_owned());
    let dmi = |name: &str| files.text(&format!("sys/class/dmi/id/{name}"));
    let storage: Vec<Value> = disks::disks(root).iter().map(Disk::describe).collect();
    without_empty(json!({
        "systemVendor": {
            "manufacturer": dmi("sys_vendor"),
            "productName": dmi("product_name"),
            "serialNumber": dmi("product_serial"),
        },
        "firmware": {"bios": {"vendor": dmi("bios_vendor"), "version": dmi("bios_version"), "date": dmi("bios_date")}},
        "ramMebibytes": memory::mebibytes(&files),
        "cpu": processor::describe(&files),
        "nics": nics::nics(&files, known),
        "storage": storage,
        "hostname": hostname(&files),
    }))
}

/// Returns whether the machine whose files are below `root` reports that it is virtual. Not all virtual machines do.
pub fn is_virtual(root: &Path) -> bool {
    processor::is_virtual(&Files(root.to_owned()))
}

fn hostname(files: &Files) -> String {
    files
        .text("proc/sys/kernel/hostname")
        .filter(|name| name != "(none)")
        .unwrap_or_else(|| "localhost".into())
}

/// Removes unknown (null) fields.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .into_iter()
                .map(|(name, value)| (name, without_empty(value)))
                .filter(|(_, value)| !value.is_null());
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

/// The files of a machine, below a root folder.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Returns the trimmed text of a file; `None` if the file is missing, unreadable or empty.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        text(&self.path(path))
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(path)).ok()
    }
}

/// Returns the trimmed text of a file, like [`Files::text`].
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
