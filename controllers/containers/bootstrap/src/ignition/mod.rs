//! Reads a configuration of Ignition, of the versions 2 and 3.
//!
//! The steps have the order of Ignition's stage `files`: groups and users, directories, files and links, units. Ignition
//! does this before systemd runs; in a node it runs already, so that enabled units are started, too.

mod config;
mod storage;
mod units;

use serde_json::Value;

use crate::error::Error;
use crate::steps::{Bootstrap, Step, shown};
use crate::users;
use config::{Config, Passwd};

/// Reads the configuration.
///
/// # Errors
/// See [`parse`](crate::parse).
pub fn parse(data: &[u8]) -> Result<Bootstrap, Error> {
    let config: Config = serde_json::from_slice(data).map_err(|error| {
        // The text of the error has values of the data.
        let why = match error.classify() {
            serde_json::error::Category::Data => "a field has another type than Ignition gives it",
            _ => "it is no JSON",
        };
        Error::Line { line: error.line(), why: why.to_owned() }
    })?;
    let version = &config.ignition.version;
    if !(version.starts_with("2.") || version.starts_with("3.")) {
        let why = format!("the version {:?} is not known: use 2.3.0 or 3.x", shown(version, 20));
        return Err(Error::field("ignition.version", why));
    }
    let mut bootstrap = Bootstrap { warnings: warnings(&config), ..Bootstrap::default() };
    bootstrap.steps.extend(people(&config.passwd)?);
    bootstrap.steps.extend(storage::steps(config.storage, &mut bootstrap.warnings)?);
    bootstrap.steps.extend(units::steps(&config.systemd.units, &mut bootstrap.warnings)?);
    bootstrap.expect_success_file(true);
    bootstrap.check()
}

/// A sentence for each section that a node does not apply.
fn warnings(config: &Config) -> Vec<String> {
    let disks = "a node has no disks of its own";
    let storage = &config.storage;
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let sections = [
        ("ignition.config", is_empty(&config.ignition.config), "nodes fetch no further configuration"),
        ("storage.disks", storage.disks.is_empty(), disks),
        ("storage.raid", storage.raid.is_empty(), disks),
        ("storage.luks", storage.luks.is_empty(), disks),
        ("storage.filesystems", storage.filesystems.is_empty(), disks),
        ("networkd", is_empty(&config.networkd), "a node's network is that of its container"),
        ("kernelArguments", is_empty(&config.kernel_arguments), "a node has the kernel of its machine"),
    ];
    let asked = sections.into_iter().filter(|(_, empty, _)| !empty);
    asked.map(|(name, _, why)| format!("{name}: not applied, {why}")).collect()
}

fn people(passwd: &Passwd) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (index, group) in passwd.groups.iter().enumerate() {
        steps.push(users::group_step(&group.name, group.gid, &format!("passwd.groups[{index}]"))?);
    }
    for (index, user) in passwd.users.iter().enumerate() {
        steps.push(users::step(&person(user), &format!("passwd.users[{index}]"))?);
    }
    Ok(steps)
}

fn person(user: &config::User) -> users::User {
    let options = [
        ("--comment", user.gecos.clone()),
        ("--home", user.home_dir.clone()),
        ("--shell", user.shell.clone()),
        ("--uid", user.uid.map(|uid| uid.to_string())),
    ];
    users::User {
        name: user.name.clone(),
        options: options.into_iter().map(|(option, value)| (option, value.unwrap_or_default())).collect(),
        groups: user.groups.clone(),
        primary_group: user.primary_group.clone().unwrap_or_default(),
        password_hash: user.password_hash.clone().filter(|hash| !hash.is_empty()),
        ssh_authorized_keys: user.ssh_authorized_keys.clone(),
        system: user.system == Some(true),
        no_create_home: user.no_create_home == Some(true),
        no_user_group: user.no_user_group == Some(true),
        ..users::User::default()
    }
}
