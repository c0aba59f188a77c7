//! Users: commands for images that have `useradd`.
//!
//! The options are those of cloud-init's `Distro.add_user` and `create_user`. A user that cannot be made is a warning of
//! the node, because the node does its work without it.

use crate::error::Error;
use crate::script::WARNINGS_VARIABLE;
use crate::shell::quote;
use crate::steps::{Step, shown};

/// What is asked of a user.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct User {
    /// The name.
    pub name: String,
    /// Options of `useradd` with their values, of which empty ones are left out.
    pub options: Vec<(&'static str, String)>,
    /// The groups beside the primary one.
    pub groups: Vec<String>,
    /// The primary group.
    pub primary_group: String,
    /// A hash as in `/etc/shadow`.
    pub password_hash: Option<String>,
    /// A password in plain text.
    pub password: Option<String>,
    /// Whether passwords are refused.
    pub locked: bool,
    /// Rules of sudo, without the name in front.
    pub sudo: Vec<String>,
    /// Lines of `authorized_keys`.
    pub ssh_authorized_keys: Vec<String>,
    /// Whether it is a user of the system.
    pub system: bool,
    /// Whether there is no home directory.
    pub no_create_home: bool,
    /// Whether no group of the user's name is made.
    pub no_user_group: bool,
}

/// Returns the step that makes a user. `field` is the path of the user in the data.
pub fn step(user: &User, field: &str) -> Result<Step, Error> {
    check_name(&user.name).map_err(|why| Error::field(format!("{field}.name"), why))?;
    Ok(Step::own(format!("make the user {}", shown(&user.name, 64)), text(user)))
}

/// Returns the step that makes a group.
pub fn group_step(name: &str, number: Option<u64>, field: &str) -> Result<Step, Error> {
    check_name(name).map_err(|why| Error::field(format!("{field}.name"), why))?;
    let group = quote(name);
    let number = number.map(|number| format!(" --gid {number}")).unwrap_or_default();
    let body = format!("getent group {group} >/dev/null || groupadd{number} -- {group}");
    Ok(Step::own(format!("make the group {}", shown(name, 64)), lenient(&format!("the group {name}"), &body)))
}

/// A name is in paths and in lines of files.
fn check_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@');
    match name.chars().next() {
        None => Err("the name is missing".to_owned()),
        Some('-' | '.') => Err("the name must not begin with - or .".to_owned()),
        Some(_) if name.len() > 64 || !name.chars().all(allowed) => {
            Err("the name must have letters, digits, _, - and . only, at most 64".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// The text that makes a user.
fn text(user: &User) -> String {
    let name = quote(&user.name);
    let mut lines = vec!["set -e".to_owned(), format!("if ! id -u {name} >/dev/null 2>&1; then")];
    for group in user.groups.iter().chain(Some(&user.primary_group)).filter(|group| !group.is_empty()) {
        let group = quote(group);
        lines.push(format!("getent group {group} >/dev/null || groupadd -- {group}"));
    }
    lines.push(format!("{} -- {name}", useradd(user)));
    lines.push("fi".to_owned());
    lines.extend(password(user));
    if !user.ssh_authorized_keys.is_empty() {
        lines.push(authorized_keys(&name, &user.ssh_authorized_keys));
    }
    if !user.sudo.is_empty() {
        lines.push(sudo(&user.name, &user.sudo));
    }
    lenient(&format!("the user {}", user.name), &lines.join("\n"))
}

/// Returns a text whose exit code is 0: what fails is written into the node's warnings.
fn lenient(what: &str, body: &str) -> String {
    let missing = quote(&format!("{what} is not made: the node image has no useradd"));
    let failed = quote(&format!("{what} could not be made as asked for: "));
    format!(
        "command -v useradd >/dev/null || {{ printf '%s\\n' {missing} >>\"${WARNINGS_VARIABLE}\"; exit 0; }}\n\
         why=$(/bin/sh -c {body} 2>&1) || printf '%s%s\\n' {failed} \"$(printf '%s\\n' \"$why\" | tail -n 1)\" \
         >>\"${WARNINGS_VARIABLE}\"\n",
        body = quote(body),
    )
}

fn useradd(user: &User) -> String {
    let mut command = "useradd".to_owned();
    let groups = user.groups.join(",");
    let more = [("--gid", &user.primary_group), ("--groups", &groups)];
    let options = user.options.iter().map(|(option, value)| (*option, value)).chain(more);
    for (option, value) in options.filter(|(_, value)| !value.is_empty()) {
        command.push_str(&format!(" {option} {}", quote(value)));
    }
    let home = if user.no_create_home || user.system { "-M" } else { "-m" };
    let flags = [(true, home), (user.system, "--system"), (user.no_user_group, "--no-user-group")];
    flags.iter().filter(|(set, _)| *set).for_each(|(_, flag)| command.push_str(&format!(" {flag}")));
    command
}

/// The password goes through a pipe, so that the list of processes never shows it.
fn password(user: &User) -> Vec<String> {
    let mut lines = Vec::new();
    let name = &user.name;
    if let Some(hash) = &user.password_hash {
        lines.push(format!("printf '%s\\n' {} | chpasswd -e", quote(&format!("{name}:{hash}"))));
    } else if let Some(plain) = &user.password {
        lines.push(format!("printf '%s\\n' {} | chpasswd", quote(&format!("{name}:{plain}"))));
    }
    if user.locked {
        lines.push(format!("usermod --lock -- {}", quote(name)));
    } else if !lines.is_empty() {
        lines.push(format!("usermod --unlock -- {}", quote(name)));
    }
    lines
}

fn authorized_keys(user: &str, keys: &[String]) -> String {
    let lines: Vec<String> = keys.iter().map(|key| quote(key)).collect();
    let lines = lines.join(" ");
    format!(
        "home=$(getent passwd {user} | cut -d: -f6)\n\
         group=$(id -g {user})\n\
         mkdir -p -- \"$home/.ssh\"\n\
         for key in {lines}; do\n\
         grep -qxF -- \"$key\" \"$home/.ssh/authorized_keys\" 2>/dev/null || printf '%s\\n' \"$key\" \
         >>\"$home/.ssh/authorized_keys\"\n\
         done\n\
         chmod 0700 -- \"$home/.ssh\"\n\
         chmod 0600 -- \"$home/.ssh/authorized_keys\"\n\
         chown -R -- {user}:\"$group\" \"$home/.ssh\""
    )
}

/// The rules go into the file of cloud-init's name, which `visudo` and `sudo` read if it is there.
fn sudo(name: &str, rules: &[String]) -> String {
    let lines: Vec<String> = rules.iter().map(|rule| quote(&format!("{name} {rule}"))).collect();
    format!(
        "mkdir -p /etc/sudoers.d\nprintf '%s\\n' {} >>/etc/sudoers.d/90-cloud-init-users\nchmod 0440 \
         /etc/sudoers.d/90-cloud-init-users",
        lines.join(" ")
    )
}
