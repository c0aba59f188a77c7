//! Files: those of the spec, kubeadm's script and configuration, and settings of programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemas::container_linux::{data_url, mode};
use serde_json::{Value, json};

use super::config::Config;
use crate::error::{Error, Result};
use crate::host::{File, Host, Verb};
use crate::names::file::SENTINEL;

/// kubeadm's configuration, which exists until kubeadm has succeeded.
const CONFIGURATION: &str = "/etc/kubeadm.yml";
/// The script that runs kubeadm.
const SCRIPT: &str = "/etc/kubeadm.sh";

/// Settings of sshd that allow nobody a password; [`write`] adds the users who may use one.
const SSHD: &str = "\
Subsystem sftp internal-sftp
ClientAliveInterval 180
UseDNS no
UsePAM yes
PrintLastLog no
PrintMotd no

Match User ";

/// What the time server of the host allows others: to ask for the time.
const NTP: &str = "\
restrict default nomodify nopeer noquery notrap limited kod
restrict 127.0.0.1
restrict [::1]
";

/// Writes all files.
///
/// # Errors
/// [`Error::Bootstrap`] names the file that cannot be expressed.
pub fn write(config: &mut Config, host: &Host<'_>, kubeadm: &str) -> Result<()> {
    let mut push = |file: Value| config.push("storage", "files", file);
    for user in host.users {
        if let Some(sudo) = user.sudo.as_deref().filter(|sudo| !sudo.is_empty()) {
            push(plain(&format!("/etc/sudoers.d/{}", user.name), 0o600, &format!("{} {sudo}\n", user.name)));
        }
    }
    let unlocked = host.users.iter().filter(|user| user.lock_password == Some(false));
    let unlocked: Vec<&str> = unlocked.map(|user| user.name.as_str()).collect();
    if !unlocked.is_empty() {
        let content = format!("{SSHD}{}\n  PasswordAuthentication yes\n", unlocked.join(","));
        push(plain("/etc/ssh/sshd_config", 0o600, &content));
    }
    for file in &host.files {
        push(entry(file).map_err(|why| Error::Bootstrap(format!("file {}: {why}", file.path)))?);
    }
    push(plain(SCRIPT, 0o700, &script(host)));
    push(plain(CONFIGURATION, 0o600, &format!("---\n{}\n", kubeadm.trim_end())));
    if let Some(ntp) = host.ntp.filter(|ntp| ntp.enabled == Some(true) && !ntp.servers.is_empty()) {
        let servers: String = ntp.servers.iter().map(|server| format!("server {server}\n")).collect();
        push(plain("/etc/ntp.conf", 0o644, &format!("{servers}\n{NTP}")));
    }
    Ok(())
}

fn plain(path: &str, mode: u32, content: &str) -> Value {
    let contents = json!({"source": data_url(content.as_bytes())});
    json!({"filesystem": "root", "path": path, "mode": mode, "contents": contents})
}

fn entry(file: &File) -> Result<Value, String> {
    let content = match file.encoding.as_str() {
        // A file ends in a line break, and its lines end as on the host, as in cloud-config.
        "" => {
            let content = file.content.replace("\r\n", "\n");
            format!("{}\n", content.strip_suffix('\n').unwrap_or(&content)).into_bytes()
        }
        "base64" => {
            let text: String = file.content.split_whitespace().collect();
            STANDARD.decode(text).map_err(|_| "the content is not base64".to_owned())?
        }
        other => return Err(format!("the encoding {other} is not possible with Ignition: use base64")),
    };
    let contents = json!({"source": data_url(&content)});
    if file.permissions.is_empty() {
        return Err("permissions must be set, or nobody but root can read it".to_owned());
    }
    let mode = mode(&file.permissions)?;
    let mut entry = json!({"filesystem": "root", "path": file.path, "mode": mode, "contents": contents});
    let (user, group) = file.owner.split_once(':').unwrap_or((&file.owner, ""));
    for (key, name) in [("user", user.trim()), ("group", group.trim())] {
        if !name.is_empty() {
            entry[key] = json!({"name": name});
        }
    }
    if file.append {
        entry["append"] = true.into();
    }
    Ok(entry)
}

fn script(host: &Host<'_>) -> String {
    let verb = match host.verb {
        Verb::Init => "init",
        Verb::Join => "join",
    };
    let verbosity = host.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
    let folder = SENTINEL.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
    let mut lines = vec!["#!/bin/bash".to_owned(), "set -e".to_owned()];
    lines.extend(host.before.iter().cloned());
    lines.push(format!("kubeadm {verb} --config {CONFIGURATION}{verbosity}"));
    lines.push(format!("mkdir -p {folder} && echo success > {SENTINEL}"));
    lines.push(format!("mv {CONFIGURATION} /tmp/"));
    lines.extend(host.after.iter().cloned());
    lines.iter().map(|line| format!("{line}\n").replace("\r\n", "\n")).collect()
}
