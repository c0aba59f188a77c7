//! The sections that nodes do not apply.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document;
use crate::error::Error;
use crate::metadata::Metadata;
use crate::steps::shown;

/// The sections that become steps.
const APPLIED: &[&str] = &["bootcmd", "write_files", "users", "runcmd"];

/// The sections that ask for nothing that a node could miss.
const WITHOUT_EFFECT: &[&str] = &[
    "disable_root",
    "final_message",
    "growpart",
    "manage_etc_hosts",
    "merge_how",
    "merge_type",
    "no_ssh_fingerprints",
    "output",
    "preserve_hostname",
    "resize_rootfs",
    "ssh_deletekeys",
    "ssh_genkeytypes",
    "ssh_quiet_keygen",
    "version",
];

/// The sections whose reason can be said.
const REASONS: &[(&str, &str)] = &[
    ("ntp", "a node has the clock of its machine"),
    ("timezone", "set TZ, or write the link /etc/localtime in runcmd"),
    ("mounts", "a node has no disks of its own; extraMounts of the DevMachine brings folders of the machine"),
    ("disk_setup", "a node has no disks of its own"),
    ("fs_setup", "a node has no disks of its own"),
    ("swap", "a node has the swap of its machine"),
    ("packages", "put the packages into the node image"),
    ("package_update", "put the packages into the node image"),
    ("package_upgrade", "put the packages into the node image"),
    ("package_reboot_if_required", "put the packages into the node image"),
    ("apt", "put the packages into the node image"),
    ("yum_repos", "put the packages into the node image"),
    ("snap", "put the packages into the node image"),
    ("ssh_authorized_keys", "a node has no default user; list the keys at an entry of users"),
    ("chpasswd", "give the passwords at the entries of users"),
    ("password", "a node has no default user"),
    ("power_state", "a node is started and stopped by its DevMachine"),
    ("hostname", "a node has the name of its container"),
    ("fqdn", "a node has the name of its container"),
];

/// Returns a sentence for each section that a node does not apply.
pub fn warnings(text: &str, metadata: &Metadata) -> Result<Vec<String>, Error> {
    let sections: BTreeMap<String, Value> = document::read(text)?;
    let ignored = sections.iter().filter(|(name, value)| {
        let known = APPLIED.contains(&name.as_str()) || WITHOUT_EFFECT.contains(&name.as_str());
        !known && !asks_for_nothing(name, value, metadata)
    });
    Ok(ignored.map(|(name, _)| warning(name)).collect())
}

fn asks_for_nothing(name: &str, value: &Value, metadata: &Metadata) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(fields) if name == "ntp" => fields.get("enabled") == Some(&Value::Bool(false)),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(host) if name == "hostname" || name == "fqdn" => {
            Some(host.as_str()) == metadata.hostname()
        }
        _ => false,
    }
}

fn warning(name: &str) -> String {
    let reason = REASONS.iter().find(|(known, _)| *known == name);
    let reason = reason.map_or("nodes in containers know no such section", |(_, reason)| reason);
    format!("{}: not applied, {reason}", shown(name, 60))
}
