//! Chooses the root disk.

use agent_protocol::RootDeviceHints;
use anyhow::{Result, bail, ensure};

use crate::inventory::Disk;

/// Without a hint, smaller disks are skipped: they are usually service partitions and USB sticks.
const SIZE_MIN: u64 = 4 << 30;
const GIBIBYTE: u64 = 1 << 30;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn disks() -> Vec<Disk> {
        let disk = |name: &str, gigabytes: u64, serial: &str, rotational: bool| Disk {
            name: name.into(),
            by_path: vec![format!("/dev/disk/by-path/of-{serial}")],
            size: gigabytes * GIBIBYTE,
            serial: Some(serial.into()),
            model: Some("QEMU HARDDISK".into()),
            wwn: (serial == "c").then(|| "0x5000c500".into()),
            rotational,
            ..Disk::default()
        };
        vec![
            disk("/dev/sdb", 20, "b", true),
            disk("/dev/sda", 20, "a", false),
            disk("/dev/sdc", 2, "c", false),
            disk("/dev/sdd", 80, "d", true),
        ]
    }

    #[test]
    fn hints_and_what_they_fit() {
        let hints = |set: &dyn Fn(&mut RootDeviceHints)| {
            let mut hints = RootDeviceHints::default();
            set(&mut hints);
            choose(&disks(), &hints).map(|disk| disk.name.clone()).map_err(|error| error.to_string())
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(hints(&|_| ()).unwrap(), "/dev/sda");
        assert_eq!(hints(&|h| h.device_name = text("/dev/sdc")).unwrap(), "/dev/sdc");
        assert_eq!(hints(&|h| h.device_name = text("/dev/disk/by-path/of-d")).unwrap(), "/dev/sdd");
        assert_eq!(hints(&|h| h.min_size_gigabytes = Some(21)).unwrap(), "/dev/sdd");
        assert_eq!(hints(&|h| h.min_size_gigabytes = Some(20)).unwrap(), "/dev/sda");
        assert_eq!(hints(&|h| h.rotational = Some(true)).unwrap(), "/dev/sdb");
        assert_eq!(hints(&|h| h.model = text("harddisk")).unwrap(), "/dev/sdc");
        assert_eq!(hints(&|h| h.wwn = text("0x5000C500")).unwrap(), "/dev/sdc");
        let both = hints(&|h| (h.serial_number, h.rotational) = (text("a"), Some(true))).unwrap_err();
        assert!(both.contains("/dev/sda (20.0 GiB, QEMU HARDDISK, serial a): rotational is false"), "{both}");
        assert!(
            both.contains(
                "/dev/sdb (20.0 GiB, QEMU HARDDISK, serial b): serialNumber is not \"a\", it is \"b\""
            ),
            "{both}"
        );
        let vendor = hints(&|h| h.vendor = text("Dell")).unwrap_err();
        assert!(vendor.contains("vendor contains not \"Dell\", it is not known"), "{vendor}");
    }

    #[test]
    fn disks_that_are_no_root_disks() {
        let with = |set: &dyn Fn(&mut Disk)| {
            let mut disk = disks().swap_remove(0);
            set(&mut disk);
            choose(&[disk], &RootDeviceHints::default()).map(|_| ()).map_err(|error| error.to_string())
        };
        assert!(with(&|_| ()).is_ok());
        assert!(with(&|d| d.size = SIZE_MIN - 1).unwrap_err().contains("smaller than 4.0 GiB"));
        assert!(with(&|d| d.removable = true).unwrap_err().contains("removable"));
        assert!(with(&|d| d.read_only = true).unwrap_err().contains("cannot be written"));
        assert!(choose(&[], &RootDeviceHints::default()).is_err());
    }
}
