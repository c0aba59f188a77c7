//! Chooses the root disk.

use agent_protocol::RootDeviceHints;
use anyhow::{Result, bail, ensure};

use crate::inventory::Disk;

/// Without a hint, smaller disks are skipped: they are usually service partitions and USB sticks.
pub const SIZE_MIN: u64 = 4 << 30;
/// The unit of the hint for the smallest size, in bytes.
pub const GIBIBYTE: u64 = 1 << 30;

/// Returns the disk that satisfies all hints: the smallest one, and of equally small ones the first by name.
///
/// # Errors
/// No disk fits; the message names each disk and the reason.
pub fn choose<'a>(disks: &'a [Disk], hints: &RootDeviceHints) -> Result<&'a Disk> {
    ensure!(
        !disks.is_empty(),
        "no disk was found: is the driver of its controller among the initramfs's modules, and the disk switched on?"
    );
    let given = *hints != RootDeviceHints::default();
    let mut refused = Vec::new();
    let mut fitting: Vec<&Disk> = Vec::new();
    for disk in disks {
        match refuses(disk, hints, given) {
            Some(reason) => refused.push(format!("{} ({}): {reason}", disk.name, describe(disk))),
            None => fitting.push(disk),
        }
    }
    fitting.sort_by(|a, b| (a.size, &a.name).cmp(&(b.size, &b.name)));
    match fitting.first() {
        Some(disk) => Ok(disk),
        None if given => bail!("no disk fits spec.rootDeviceHints: {}", refused.join("; ")),
        None => {
            bail!("no disk can be the root disk, and spec.rootDeviceHints names none: {}", refused.join("; "))
        }
    }
}

fn describe(disk: &Disk) -> String {
    let mut words = vec![size(disk.size)];
    words.extend(disk.model.clone());
    words.extend(disk.serial.as_ref().map(|serial| format!("serial {serial}")));
    words.join(", ")
}

fn size(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / GIBIBYTE as f64)
}

/// Returns the reason why a disk does not fit, or `None` if it does.
fn refuses(disk: &Disk, hints: &RootDeviceHints, given: bool) -> Option<String> {
    let of_name = |name: &String| name == &disk.name || disk.by_path.contains(name);
    if let Some(name) = &hints.device_name
        && !of_name(name)
    {
        return Some(format!("deviceName is not {name}"));
    }
    let exact = [
        ("hctl", &hints.hctl, &disk.hctl),
        ("serialNumber", &hints.serial_number, &disk.serial),
        ("wwn", &hints.wwn, &disk.wwn),
        ("wwnWithExtension", &hints.wwn_with_extension, &disk.wwn_with_extension),
        ("wwnVendorExtension", &hints.wwn_vendor_extension, &disk.wwn_vendor_extension),
    ];
    for (name, wanted, has) in exact {
        if wanted.is_some() && !same(wanted.as_deref(), has.as_deref()) {
            return Some(differs(name, "is", has.as_deref(), wanted.as_deref()));
        }
    }
    let parts = [("model", &hints.model, &disk.model), ("vendor", &hints.vendor, &disk.vendor)];
    for (name, wanted, has) in parts {
        let contains = |wanted: &String| {
            has.as_ref().is_some_and(|has| has.to_lowercase().contains(&wanted.to_lowercase()))
        };
        if wanted.as_ref().is_some_and(|wanted| !contains(wanted)) {
            return Some(differs(name, "contains", has.as_deref(), wanted.as_deref()));
        }
    }
    refuses_by_kind(disk, hints, given)
}

fn refuses_by_kind(disk: &Disk, hints: &RootDeviceHints, given: bool) -> Option<String> {
    if let Some(gigabytes) = hints.min_size_gigabytes
        && disk.size < gigabytes.saturating_mul(GIBIBYTE)
    {
        return Some(format!("smaller than minSizeGigabytes {gigabytes}"));
    }
    if hints.rotational.is_some_and(|rotational| rotational != disk.rotational) {
        return Some(format!("rotational is {}", disk.rotational));
    }
    if disk.read_only {
        return Some("it cannot be written".into());
    }
    if !given && disk.removable {
        return Some("it is removable".into());
    }
    (!given && disk.size < SIZE_MIN).then(|| format!("smaller than {}", size(SIZE_MIN)))
}

fn same(wanted: Option<&str>, has: Option<&str>) -> bool {
    matches!((wanted, has), (Some(wanted), Some(has)) if wanted.eq_ignore_ascii_case(has))
}

fn differs(name: &str, relation: &str, has: Option<&str>, wanted: Option<&str>) -> String {
    let has = has.map_or("not known".to_owned(), |has| format!("{has:?}"));
    format!("{name} {relation} not {:?}, it is {has}", wanted.unwrap_or_default())
}
