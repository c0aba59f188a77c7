// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `bootstrap`: operating system.

use serde::{Deserialize, Serialize};

/// Container Linux Config that is merged into the one made from the rest of the spec.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ContainerLinuxConfig {
    /// The YAML text. What it defines wins over what is made from the spec, except for kubeadm.service.
    #[serde(rename = "additionalConfig", skip_serializing_if = "Option::is_none")]
    pub additional_config: Option<String>,
    /// Refuse the text when it has mistakes that would otherwise be ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// Disks to divide and file systems to make, in this order.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct DiskSetup {
    /// File systems to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<Filesystem>,
    /// Disks to divide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<Partition>,
}

/// A file on the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct File {
    /// Add the content to a file that exists, in place of replacing it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<bool>,
    /// The content. Not together with contentFrom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Raw writes the content as it is. Template fills in the templates of the bootstrap data first. Raw
    /// unless set.
    #[serde(rename = "contentFormat", skip_serializing_if = "Option::is_none")]
    pub content_format: Option<String>,
    /// Where the content comes from. Not together with content.
    #[serde(rename = "contentFrom", skip_serializing_if = "Option::is_none")]
    pub content_from: Option<FileSource>,
    /// How the content is encoded, which the machine undoes. Unset: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// User and group that own the file, such as root:root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Full path. No two files can have the same.
    pub path: String,
    /// Permissions in octal, such as 0640.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
}

/// Where the content of a file comes from.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct FileSource {
    /// A Secret.
    pub secret: SecretFileSource,
}

/// A file system to make.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Filesystem {
    /// The disk or partition, such as /dev/sdb.
    pub device: String,
    /// Options for the command that makes it.
    #[serde(rename = "extraOpts", skip_serializing_if = "Vec::is_empty")]
    pub extra_opts: Vec<String>,
    /// Kind of file system, such as ext4 or xfs.
    pub filesystem: String,
    /// Label of the file system. Required in practice: an empty one is refused by some tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Make it although there is one already. All its data are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
    /// Which partition of the device: a number, auto, any or none. Unset: device is the partition itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// With partition auto: replace a file system of this kind.
    #[serde(rename = "replaceFS", skip_serializing_if = "Option::is_none")]
    pub replace_fs: Option<String>,
}

/// Settings that only ignition has.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IgnitionSpec {
    /// Further configuration.
    #[serde(rename = "containerLinuxConfig", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub container_linux_config: Option<ContainerLinuxConfig>,
}

/// How the machine sets its clock.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Ntp {
    /// Whether NTP is set up at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Servers to ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
}

/// How one disk is divided. Either layout or diskLayout.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Partition {
    /// The disk, such as /dev/sdb.
    pub device: String,
    /// The parts, in order.
    #[serde(rename = "diskLayout", skip_serializing_if = "Vec::is_empty")]
    pub disk_layout: Vec<PartitionSpec>,
    /// True for one partition over the whole disk; false for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<bool>,
    /// Divide the disk although it has partitions. All its data are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
    /// mbr or gpt. mbr unless set.
    #[serde(rename = "tableType", skip_serializing_if = "Option::is_none")]
    pub table_type: Option<String>,
}

/// One part of a disk.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PartitionSpec {
    /// Kind of the partition: Linux, LinuxSwap, LinuxRAID, LVM, Fat32, NTFS, LinuxExtended, or a GUID of a
    /// GPT. Linux unless set.
    #[serde(rename = "partitionType", skip_serializing_if = "Option::is_none")]
    pub partition_type: Option<String>,
    /// How much of the disk it gets. All parts together must not be more than 100.
    pub percentage: i32,
}

/// Where a user's password comes from.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct PasswdSource {
    /// A Secret.
    pub secret: SecretPasswdSource,
}

/// A key of a Secret in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SecretFileSource {
    /// The key.
    pub key: String,
    /// Name of the Secret.
    pub name: String,
}

/// A key of a Secret in the same namespace.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct SecretPasswdSource {
    /// The key.
    pub key: String,
    /// Name of the Secret.
    pub name: String,
}

/// A user of the machine.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct User {
    /// Full name, and whatever else is put into that field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gecos: Option<String>,
    /// Further groups, separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// Home directory. The system's choice unless set.
    #[serde(rename = "homeDir", skip_serializing_if = "Option::is_none")]
    pub home_dir: Option<String>,
    /// Create the user so that nobody can log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive: Option<bool>,
    /// Forbid login with the password. True unless set.
    #[serde(rename = "lockPassword", skip_serializing_if = "Option::is_none")]
    pub lock_password: Option<bool>,
    /// Login name.
    pub name: String,
    /// Hash of the password. Not together with passwdFrom, which keeps it out of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passwd: Option<String>,
    /// Where the hash of the password comes from. Not together with passwd.
    #[serde(rename = "passwdFrom", skip_serializing_if = "Option::is_none")]
    pub passwd_from: Option<PasswdSource>,
    /// Main group. One with the user's name unless set.
    #[serde(rename = "primaryGroup", skip_serializing_if = "Option::is_none")]
    pub primary_group: Option<String>,
    /// Login shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Public keys that can log in over SSH.
    #[serde(rename = "sshAuthorizedKeys", skip_serializing_if = "Vec::is_empty")]
    pub ssh_authorized_keys: Vec<String>,
    /// Rule of sudo for the user, such as ALL=(ALL) NOPASSWD:ALL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sudo: Option<String>,
}
