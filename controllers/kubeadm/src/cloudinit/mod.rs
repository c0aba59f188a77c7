//! Bootstrap data as a `#cloud-config` document.
//!
//! Because of the header, cloud-init renders the document with Jinja first, so that names such as `{{
//! ds.meta_data.local_hostname }}` in the kubeadm configuration are replaced on the host.

mod operating_system;
pub mod yaml;

use std::fmt::Write as _;

use schemas::bootstrap::{DiskSetup, Ntp, User};

use crate::names::file;
use yaml::{block, quoted, scalar, single_quoted};

/// A file that cloud-init writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Absolute path.
    pub path: String,
    /// Owner as `user:group`; empty for the default.
    pub owner: String,
    /// Mode in octal digits; empty for the default.
    pub permissions: String,
    /// `base64`, `gzip` or `gzip+base64`; empty for plain text.
    pub encoding: String,
    /// Whether to append to an existing file.
    pub append: bool,
    /// Content in the given encoding.
    pub content: String,
}

impl File {
    /// Creates a file owned by root.
    pub fn root(path: impl Into<String>, permissions: &str, content: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            owner: "root:root".to_owned(),
            permissions: permissions.to_owned(),
            content: content.into(),
            ..Self::default()
        }
    }
}

/// The kubeadm command that runs on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `kubeadm init`, on the first control plane node.
    Init,
    /// `kubeadm join`, on every other node.
    Join,
}

impl Verb {
    fn command(self) -> String {
        match self {
            Self::Init => format!("kubeadm init --config {}", file::INIT),
            Self::Join => format!("kubeadm join --config {}", file::JOIN),
        }
    }
}

/// The content of a cloud-config document.
#[derive(Debug, Clone)]
pub struct CloudConfig<'a> {
    /// Files, in order.
    pub files: Vec<File>,
    /// Commands that run early in every boot.
    pub boot_commands: &'a [String],
    /// Commands that run before kubeadm.
    pub before: &'a [String],
    /// Commands that run after kubeadm.
    pub after: &'a [String],
    /// The kubeadm command.
    pub verb: Verb,
    /// kubeadm's log level.
    pub verbosity: Option<i32>,
    /// Time synchronization.
    pub ntp: Option<&'a Ntp>,
    /// Users, with their passwords filled in.
    pub users: &'a [User],
    /// Partitions and filesystems.
    pub disk_setup: Option<&'a DiskSetup>,
    /// Mounts, as the fields of fstab.
    pub mounts: &'a [Vec<String>],
}

impl CloudConfig<'_> {
    /// Renders the document.
    pub fn render(&self) -> String {
        let mut out = String::from("## template: jinja\n#cloud-config\n");
        self.write_files(&mut out);
        commands(&mut out, "bootcmd", self.boot_commands);
        self.run_commands(&mut out);
        operating_system::ntp(&mut out, self.ntp);
        operating_system::users(&mut out, self.users);
        operating_system::disks(&mut out, self.disk_setup);
        operating_system::mounts(&mut out, self.mounts);
        out
    }

    fn write_files(&self, out: &mut String) {
        out.push_str("\nwrite_files:\n");
        for entry in &self.files {
            write_file(out, entry);
        }
        let placeholder = "Makes this folder, where the end of the bootstrap is noted.";
        write_file(out, &File::root(file::PLACEHOLDER, "0640", placeholder));
    }

    fn run_commands(&self, out: &mut String) {
        out.push_str("runcmd:\n");
        for command in self.before {
            line(out, command);
        }
        let verbosity = self.verbosity.map(|level| format!(" --v {level}")).unwrap_or_default();
        let kubeadm = format!("{}{verbosity} && echo success > {}", self.verb.command(), file::SENTINEL);
        let _ = writeln!(out, "  - {}", single_quoted(&kubeadm));
        for command in self.after {
            line(out, command);
        }
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
