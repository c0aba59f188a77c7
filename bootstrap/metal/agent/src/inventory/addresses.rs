//! Determines the position of a device from its path in `/sys/devices`.

use std::path::Path;

/// Returns the components of the canonical path of a device (`…/device`), starting at the root.
pub fn parts(device: &Path) -> Vec<String> {
    let Ok(real) = std::fs::canonicalize(device) else { return Vec::new() };
    real.iter().filter_map(|part| part.to_str().map(str::to_owned)).collect()
}

/// Returns the PCI address closest to the device, for example `0000:00:04.0`.
pub fn pci(parts: &[String]) -> Option<&str> {
    parts.iter().rev().map(String::as_str).find(|part| is_pci(part))
}

/// Returns whether a part of a path is the address of a PCI device.
pub fn is_pci(part: &str) -> bool {
    let hexadecimal =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    let fields: Vec<&str> = part.split([':', '.']).collect();
    matches!(fields[..], [domain, bus, slot, function]
        if hexadecimal(domain, 4) && hexadecimal(bus, 2) && hexadecimal(slot, 2) && hexadecimal(function, 1))
        && part.as_bytes().get(10) == Some(&b'.')
}

/// Returns the names that udev would give a disk in `/dev/disk/by-path` (systemd's `path_id`), the preferred one first.
pub fn by_path(parts: &[String], namespace: Option<&str>) -> Vec<String> {
    let Some(pci) = pci(parts) else { return Vec::new() };
    let base = format!("pci-{pci}");
    let find =
        |prefix: &str| parts.iter().find_map(|part| part.strip_prefix(prefix).filter(|rest| is_number(rest)));
    let hctl = parts.last().filter(|part| part.split(':').count() == 4 && part.split(':').all(is_number));
    let usb = parts
        .iter()
        .rev()
        .find_map(|part| part.split_once('-').map(|(_, port)| port).filter(|port| is_usb(port)));
    let names = if let Some(namespace) = namespace {
        vec![format!("{base}-nvme-{namespace}")]
    } else if let Some(hctl) = hctl {
        // udev counts hosts from the first one of the adapter, which almost always has only one, so 0 is used.
        let lun = format!("0:{}", hctl.split_once(':').map_or("0:0:0", |(_, rest)| rest));
        match (usb, find("ata")) {
            (Some(port), _) => vec![format!("{base}-usb-0:{port}-scsi-{lun}")],
            (None, Some(port)) => vec![format!("{base}-ata-{port}"), format!("{base}-ata-{port}.0")],
            (None, None) => vec![format!("{base}-scsi-{lun}")],
        }
    } else {
        vec![base.clone(), format!("virtio-{base}")]
    };
    names.into_iter().map(|name| format!("/dev/disk/by-path/{name}")).collect()
}

/// Returns whether the text is a USB port with an interface, for example `1.4:1.0`.
fn is_usb(port: &str) -> bool {
    port.split_once(':').is_some_and(|(port, interface)| {
        port.split('.').all(is_number) && interface.split('.').all(is_number)
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
