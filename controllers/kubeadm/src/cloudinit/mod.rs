//! Bootstrap data as a `#cloud-config` document.
//!
//! Because of the header, cloud-init renders the document with Jinja first, so that names such as `{{
//! ds.meta_data.local_hostname }}` in the kubeadm configuration are replaced on the host.

mod operating_system;
pub mod yaml;

use std::fmt::Write as _;

use crate::host::{File, Host, Verb};
use crate::names::file;
use yaml::{block, quoted, scalar, single_quoted};

/// Renders the document. `boot_commands` run early in every boot.
pub fn render(host: &Host<'_>, boot_commands: &[String]) -> String {
    let mut out = String::from("## template: jinja\n#cloud-config\n");
    write_files(&mut out, &host.files);
    commands(&mut out, "bootcmd", boot_commands);
    run_commands(&mut out, host);
    operating_system::ntp(&mut out, host.ntp);
    operating_system::users(&mut out, host.users);
    operating_system::disks(&mut out, host.disk_setup);
    operating_system::mounts(&mut out, host.mounts);
    out
}

fn write_files(out: &mut String, files: &[File]) {
    out.push_str("\nwrite_files:\n");
    for entry in files {
        write_file(out, entry);
    }
    let placeholder = "Makes this folder, where the end of the bootstrap is noted.";
    write_file(out, &File::root(file::PLACEHOLDER, "0640", placeholder));
}

fn run_commands(out: &mut String, host: &Host<'_>) {
    out.push_str("runcmd:\n");
    for command in host.before {
        line(out, command);
    }
    let kubeadm = match host.verb {
        Verb::Init => format!("kubeadm init --config {}", file::INIT),
        Verb::Join => format!("kubeadm join --config {}", file::JOIN),
    };
    let verbosity = host.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
    let kubeadm = format!("{kubeadm}{verbosity} && echo success > {}", file::SENTINEL);
    let _ = writeln!(out, "  - {}", single_quoted(&kubeadm));
    for command in host.after {
        line(out, command);
    }
}

fn write_file(out: &mut String, entry: &File) {
    let _ = writeln!(out, "-   path: {}", scalar(&entry.path));
    if !entry.encoding.is_empty() {
        let _ = writeln!(out, "    encoding: {}", quoted(&entry.encoding));
    }
    if !entry.owner.is_empty() {
        let _ = writeln!(out, "    owner: {}", scalar(&entry.owner));
    }
    if !entry.permissions.is_empty() {
        let _ = writeln!(out, "    permissions: {}", single_quoted(&entry.permissions));
    }
    if entry.append {
        out.push_str("    append: true\n");
    }
    let _ = writeln!(out, "    content: {}", block(&entry.content, 6));
}

fn commands(out: &mut String, key: &str, commands: &[String]) {
    if commands.is_empty() {
        return;
    }
    let _ = writeln!(out, "{key}:");
    for command in commands {
        line(out, command);
    }
}

fn line(out: &mut String, command: &str) {
    let _ = writeln!(out, "  - {}", quoted(command));
}
