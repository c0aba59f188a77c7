//! The cloud-config sections for users, time, disks and mounts.

use std::fmt::Write as _;

use schemas::bootstrap::{DiskSetup, Filesystem, Ntp, Partition, User};

use super::yaml::{quoted, scalar};

/// Writes the `ntp:` section.
pub fn ntp(out: &mut String, ntp: Option<&Ntp>) {
    let Some(ntp) = ntp else { return };
    out.push_str("ntp:\n");
    if let Some(enabled) = ntp.enabled {
        let _ = writeln!(out, "  enabled: {enabled}");
    }
    list(out, 2, "servers", &ntp.servers);
    if ntp.enabled.is_none() && ntp.servers.is_empty() {
        out.push_str("  enabled: true\n");
    }
}

/// Writes the `users:` section.
pub fn users(out: &mut String, users: &[User]) {
    if users.is_empty() {
        return;
    }
    out.push_str("users:\n");
    for user in users {
        let _ = writeln!(out, "  - name: {}", scalar(&user.name));
        let texts = [
            ("passwd", &user.passwd),
            ("gecos", &user.gecos),
            ("groups", &user.groups),
            ("homedir", &user.home_dir),
            ("shell", &user.shell),
            ("primary_group", &user.primary_group),
            ("sudo", &user.sudo),
        ];
        for (key, value) in texts {
            text(out, 4, key, value.as_deref());
        }
        if let Some(inactive) = user.inactive {
            // cloud-init's schema requires a string here.
            let _ = writeln!(out, "    inactive: {}", quoted(&inactive.to_string()));
        }
        flag(out, 4, "lock_passwd", user.lock_password);
        list(out, 4, "ssh_authorized_keys", &user.ssh_authorized_keys);
    }
}

/// Writes the `disk_setup:` and `fs_setup:` sections.
pub fn disks(out: &mut String, setup: Option<&DiskSetup>) {
    let Some(setup) = setup else { return };
    if !setup.partitions.is_empty() {
        out.push_str("disk_setup:\n");
        setup.partitions.iter().for_each(|entry| partition(out, entry));
    }
    if !setup.filesystems.is_empty() {
        out.push_str("fs_setup:\n");
        setup.filesystems.iter().for_each(|entry| filesystem(out, entry));
    }
}

fn partition(out: &mut String, entry: &Partition) {
    let _ = writeln!(out, "  {}:", scalar(&entry.device));
    text(out, 4, "table_type", entry.table_type.as_deref());
    if entry.disk_layout.is_empty() {
        flag(out, 4, "layout", entry.layout);
    } else {
        out.push_str("    layout:\n");
        for part in &entry.disk_layout {
            let code = part.partition_type.as_deref().map(partition_code);
            let _ = match code {
                Some(code) => writeln!(out, "      - [{}, {}]", part.percentage, code),
                None => writeln!(out, "      - {}", part.percentage),
            };
        }
    }
    flag(out, 4, "overwrite", entry.overwrite);
}

/// Returns the partition code that cloud-init passes to the partitioning tool: the MBR code, which cloud-init
/// translates for GPT.
fn partition_code(kind: &str) -> String {
    match kind {
        "Linux" => "83".to_owned(),
        "LinuxSwap" => "82".to_owned(),
        "LinuxRAID" => quoted("fd"),
        "LVM" => quoted("8e"),
        "Fat32" => quoted("0c"),
        "NTFS" => quoted("07"),
        "LinuxExtended" => "85".to_owned(),
        other => quoted(other),
    }
}

fn filesystem(out: &mut String, entry: &Filesystem) {
    let _ = writeln!(out, "  - label: {}", scalar(entry.label.as_deref().unwrap_or_default()));
    let _ = writeln!(out, "    filesystem: {}", scalar(&entry.filesystem));
    let _ = writeln!(out, "    device: {}", scalar(&entry.device));
    text(out, 4, "partition", entry.partition.as_deref());
    flag(out, 4, "overwrite", entry.overwrite);
    text(out, 4, "replace_fs", entry.replace_fs.as_deref());
    list(out, 4, "extra_opts", &entry.extra_opts);
}

/// Writes the `mounts:` section.
pub fn mounts(out: &mut String, mounts: &[Vec<String>]) {
    if mounts.is_empty() {
        return;
    }
    out.push_str("mounts:\n");
    for mount in mounts.iter().filter(|mount| !mount.is_empty()) {
        let fields: Vec<String> = mount.iter().map(|field| quoted(field)).collect();
        let _ = writeln!(out, "  - [{}]", fields.join(", "));
    }
}

fn text(out: &mut String, indent: usize, key: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        let _ = writeln!(out, "{:indent$}{key}: {}", "", scalar(value));
    }
}

fn flag(out: &mut String, indent: usize, key: &str, value: Option<bool>) {
    if let Some(value) = value {
        let _ = writeln!(out, "{:indent$}{key}: {value}", "");
    }
}

fn list(out: &mut String, indent: usize, key: &str, values: &[String]) {
    if values.is_empty() {
        return;
    }
    let _ = writeln!(out, "{:indent$}{key}:", "");
    for value in values {
        let _ = writeln!(out, "{:indent$}  - {}", "", scalar(value));
    }
}
