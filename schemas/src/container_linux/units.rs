//! Checks of systemd's units, networkd's files and users.

use std::path::Path;

use serde_json::Value;

use super::parts::{each, text};

/// The longest line that systemd reads.
const MAX_LINE: usize = 2048;
const UNITS: &[&str] = &[
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
];
const NETWORKS: &[&str] = &["link", "netdev", "network"];
const DROPINS: &[&str] = &["conf"];

/// Checks the units of both sections.
///
/// # Errors
/// Names the field that is wrong.
pub fn check(config: &Value, strict: bool) -> Result<(), String> {
    for (section, endings) in [("systemd", UNITS), ("networkd", NETWORKS)] {
        for (path, unit) in each(config, section, "units") {
            let sections = file(&path, unit, endings)?;
            let enabled = unit["enable"] == true || unit["enabled"] == true;
            let installed = text(unit, "contents").is_empty() || sections.contains(&"Install");
            if strict && enabled && !installed {
                return Err(format!("{path} is enabled, but its contents have no section Install"));
            }
            for (index, dropin) in unit["dropins"].as_array().into_iter().flatten().enumerate() {
                file(&format!("{path}.dropins[{index}]"), dropin, DROPINS)?;
            }
        }
    }
    users(config, strict)
}

/// Checks name and contents of a file that systemd reads. Returns its sections.
fn file<'a>(path: &str, file: &'a Value, endings: &[&str]) -> Result<Vec<&'a str>, String> {
    let ending = Path::new(text(file, "name")).extension().and_then(|ending| ending.to_str());
    if !ending.is_some_and(|ending| endings.contains(&ending)) {
        return Err(format!("{path}.name must end in one of: {}", endings.join(", ")));
    }
    sections(text(file, "contents")).map_err(|why| format!("{path}.contents {why}"))
}

/// Returns the names of a unit's sections.
fn sections(contents: &str) -> Result<Vec<&str>, String> {
    let mut sections = Vec::new();
    let mut continued = false;
    for line in contents.lines() {
        if line.len() > MAX_LINE {
            return Err(format!("has a line longer than {MAX_LINE} bytes"));
        }
        let start = line.trim_start();
        if continued {
            continued = start.starts_with(['#', ';']) || line.ends_with('\\');
        } else if let Some(section) = start.strip_prefix('[') {
            let parts = section.split_once(']');
            let (name, behind) = parts.ok_or_else(|| format!("has a section without an end: {line}"))?;
            if !behind.trim().is_empty() {
                return Err(format!("has text behind the name of a section: {line}"));
            }
            sections.push(name);
        } else if !start.is_empty() && !start.starts_with(['#', ';']) && !sections.is_empty() {
            if !line.contains('=') {
                return Err(format!("has a line that is neither section nor option: {line}"));
            }
            continued = line.ends_with('\\');
        }
    }
    Ok(sections)
}

/// Checks users and groups. A user has its settings itself, or below `create`.
fn users(config: &Value, strict: bool) -> Result<(), String> {
    for (path, user) in each(config, "passwd", "users") {
        if user["create"].is_null() {
            continue;
        }
        if strict {
            return Err(format!("{path}.create is obsolete: write its fields into the user"));
        }
        let own = ["name", "password_hash", "ssh_authorized_keys", "create"];
        let fields = user.as_object().into_iter().flatten();
        let other = fields.filter(|(name, value)| !own.contains(&name.as_str()) && !is_zero(value));
        if let Some((name, _)) = other.into_iter().next() {
            return Err(format!("{path} cannot have both create and {name}"));
        }
        natural(&format!("{path}.create.uid"), &user["create"]["uid"])?;
    }
    each(config, "passwd", "groups")
        .try_for_each(|(path, group)| natural(&format!("{path}.gid"), &group["gid"]))
}

fn is_zero(value: &Value) -> bool {
    *value == "" || *value == false || value.as_array().is_some_and(Vec::is_empty)
}

fn natural(path: &str, number: &Value) -> Result<(), String> {
    match number.as_i64() {
        Some(number) if number < 0 => Err(format!("{path} must not be negative")),
        _ => Ok(()),
    }
}
