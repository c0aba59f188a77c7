//! Users and systemd's units.

use schemas::bootstrap::User;
use serde_json::{Value, json};

use super::config::Config;
use crate::error::{Error, Result};
use crate::host::Host;

/// The unit that runs kubeadm, once: the script moves the file of the condition away. A shell reads the script, since
/// nothing can be executed where `/etc` is mounted so.
const KUBEADM: &str = "\
[Unit]
Description=kubeadm
ConditionPathExists=/etc/kubeadm.yml
After=network.target
[Service]
Type=oneshot
ExecStart=/bin/bash /etc/kubeadm.sh
[Install]
WantedBy=multi-user.target
";

/// Writes the users.
pub fn users(config: &mut Config, users: &[User]) {
    for user in users {
        let mut entry = json!({"name": user.name});
        let texts = [
            ("gecos", &user.gecos),
            ("homeDir", &user.home_dir),
            ("shell", &user.shell),
            ("passwordHash", &user.passwd),
            ("primaryGroup", &user.primary_group),
        ];
        for (key, value) in texts {
            if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                entry[key] = value.into();
            }
        }
        let groups = user.groups.as_deref().unwrap_or_default().split(',').map(str::trim);
        let groups: Vec<&str> = groups.filter(|group| !group.is_empty()).collect();
        if !groups.is_empty() {
            entry["groups"] = json!(groups);
        }
        if !user.ssh_authorized_keys.is_empty() {
            entry["sshAuthorizedKeys"] = json!(user.ssh_authorized_keys);
        }
        config.push("passwd", "users", entry);
    }
}

fn unit(name: &str, contents: Option<String>) -> Value {
    let mut unit = json!({"name": name, "enabled": true});
    if let Some(contents) = contents {
        unit["contents"] = contents.into();
    }
    unit
}

/// Writes the units: kubeadm, time synchronization, mounts.
///
/// # Errors
/// [`Error::Bootstrap`] if a mount is incomplete or names no filesystem of the spec.
pub fn units(config: &mut Config, host: &Host<'_>) -> Result<()> {
    config.push("systemd", "units", unit("kubeadm.service", Some(KUBEADM.to_owned())));
    if host.ntp.is_some_and(|ntp| ntp.enabled == Some(true)) {
        config.push("systemd", "units", unit("ntpd.service", None));
    }
    let filesystems = host.disk_setup.map(|setup| setup.filesystems.as_slice()).unwrap_or_default();
    for (index, mount) in host.mounts.iter().enumerate() {
        let wrong = |what: &str| Error::Bootstrap(format!("spec.mounts[{index}] {what}"));
        let [label, path, options @ ..] = mount.as_slice() else {
            return Err(wrong("must have the label of a filesystem and a path"));
        };
        let filesystem = filesystems.iter().find(|found| found.label.as_deref() == Some(label));
        let device = filesystem.map(|found| found.device.as_str());
        let device = device
            .ok_or_else(|| wrong("names no label of spec.diskSetup.filesystems, which Ignition needs"))?;
        let contents = format!(
            "[Unit]\nDescription=Mount {label}\n\n[Mount]\nWhat={device}\nWhere={path}\nOptions={}\n\n[Install]\n\
             WantedBy=multi-user.target\n",
            options.join(",")
        );
        config.push("systemd", "units", unit(&format!("{}.mount", unit_name(path)), Some(contents)));
    }
    Ok(())
}

/// Returns a path as systemd writes it in the name of a unit.
fn unit_name(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "-".to_owned();
    }
    let joined = parts.join("/");
    let mut name = String::new();
    for (index, byte) in joined.bytes().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if index == 0 => name.push_str("\\x2e"),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b':' | b'_' | b'.' => name.push(char::from(byte)),
            _ => name.push_str(&format!("\\x{byte:02x}")),
        }
    }
    name
}
