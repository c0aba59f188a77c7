//! The fields of an Ignition configuration, of the versions 2 and 3.

use serde::Deserialize;
use serde_json::Value;

/// A configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    pub ignition: Header,
    pub passwd: Passwd,
    pub storage: Storage,
    pub systemd: Systemd,
    pub networkd: Value,
    #[serde(rename = "kernelArguments")]
    pub kernel_arguments: Value,
}

/// The section `ignition`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Header {
    pub version: String,
    pub config: Value,
}

/// The section `passwd`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Passwd {
    pub users: Vec<User>,
    pub groups: Vec<Group>,
}

/// A user.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct User {
    pub name: String,
    pub password_hash: Option<String>,
    pub ssh_authorized_keys: Vec<String>,
    pub uid: Option<u64>,
    pub gecos: Option<String>,
    pub home_dir: Option<String>,
    pub no_create_home: Option<bool>,
    pub primary_group: Option<String>,
    pub groups: Vec<String>,
    pub no_user_group: Option<bool>,
    pub shell: Option<String>,
    pub system: Option<bool>,
}

/// A group.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Group {
    pub name: String,
    pub gid: Option<u64>,
}

/// The section `storage`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Storage {
    pub disks: Vec<Value>,
    pub raid: Vec<Value>,
    pub luks: Vec<Value>,
    pub filesystems: Vec<Value>,
    pub files: Vec<File>,
    pub directories: Vec<File>,
    pub links: Vec<Link>,
}

/// A file or a directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct File {
    pub filesystem: Option<String>,
    pub path: String,
    pub mode: Option<u32>,
    pub user: Option<Owner>,
    pub group: Option<Owner>,
    pub append: Append,
    pub contents: Option<Contents>,
}

/// Version 2: whether `contents` is appended. Version 3: what is appended.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Append {
    Flag(bool),
    Contents(Vec<Contents>),
    Nothing(()),
}

impl Default for Append {
    fn default() -> Self {
        Self::Nothing(())
    }
}

/// The content of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Contents {
    pub source: Option<String>,
    pub compression: Option<String>,
}

/// A user or a group, by name or number.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Owner {
    pub id: Option<u64>,
    pub name: Option<String>,
}

/// A link.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Link {
    pub filesystem: Option<String>,
    pub path: String,
    pub target: String,
    pub hard: Option<bool>,
}

/// The section `systemd`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Systemd {
    pub units: Vec<Unit>,
}

/// A unit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Unit {
    pub name: String,
    pub enable: Option<bool>,
    pub enabled: Option<bool>,
    pub mask: Option<bool>,
    pub contents: Option<String>,
    pub dropins: Vec<DropIn>,
}

/// A drop-in of a unit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DropIn {
    pub name: String,
    pub contents: Option<String>,
}
