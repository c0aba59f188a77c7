//! The inventory of the machine, in the format of Metal3's `HardwareData.spec.hardware`.
//!
//! All data are read from files below a root folder (`/sys`, `/proc`), so that tests can use recorded trees.

pub mod addresses;
pub mod disks;
pub mod files;
pub mod memory;
pub mod nics;
mod processor;

use std::path::Path;

use serde_json::{Map, Value, json};

pub use disks::{Disk, Kind};
pub(crate) use files::{names, text};
pub use nics::Known;

use files::Files;

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
