//! The section `systemd`.

use super::config::Unit;
use crate::error::Error;
use crate::script::WARNINGS_VARIABLE;
use crate::shell::quote;
use crate::steps::{Command, Step, WriteFile};

/// The folder of units.
const FOLDER: &str = "/etc/systemd/system";

/// Lines of a unit's log that are shown if it does not start.
const LOG_LINES: usize = 10;

/// Returns the steps of the section: all files, then one reload, then the units: mounts first, as systemd would order
/// them before the services that use them.
pub fn steps(units: &[Unit], warnings: &mut Vec<String>) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        let field = format!("systemd.units[{index}]");
        check_name(&unit.name, &field)?;
        if let Some(contents) = unit.contents.as_deref().filter(|contents| !contents.is_empty()) {
            steps.push(write(format!("{FOLDER}/{}", unit.name), contents));
        }
        for (index, dropin) in unit.dropins.iter().enumerate() {
            check_name(&dropin.name, &format!("{field}.dropins[{index}]"))?;
            let path = format!("{FOLDER}/{}.d/{}", unit.name, dropin.name);
            steps.push(write(path, dropin.contents.as_deref().unwrap_or_default()));
        }
    }
    if units.is_empty() {
        return Ok(steps);
    }
    steps.push(Step::run(Command::Arguments(["systemctl", "daemon-reload"].map(str::to_owned).to_vec())));
    let mut started: Vec<&str> = Vec::new();
    let is_mount = |unit: &&Unit| has_suffix(&unit.name, &[".mount", ".automount", ".swap"]);
    let (mounts, others): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(is_mount);
    for unit in mounts.into_iter().chain(others) {
        let name = unit.name.as_str();
        if unit.mask == Some(true) {
            let words = ["systemctl", "mask", "--now", "--", name].map(str::to_owned).to_vec();
            steps.push(Step::run(Command::Arguments(words)));
        } else if (unit.enable == Some(true) || unit.enabled == Some(true)) && !started.contains(&name) {
            started.push(name);
            steps.push(start(name, is_mount(&unit)));
        } else if unit.enabled == Some(false) && unit.contents.is_none() {
            warnings.push(format!("systemd.units: {name} is not disabled, it may run already"));
        }
    }
    Ok(steps)
}

/// A name is part of a path.
fn check_name(name: &str, field: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":_.\\@-".contains(c);
    if name.is_empty() || name.starts_with(['.', '-']) || name.len() > 255 || !name.chars().all(allowed) {
        let why = "the name must have letters, digits and :_.\\@- only, and not begin with . or -";
        return Err(Error::field(format!("{field}.name"), why));
    }
    Ok(())
}

fn has_suffix(name: &str, suffixes: &[&str]) -> bool {
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

fn write(path: String, contents: &str) -> Step {
    let content = contents.as_bytes().to_vec();
    Step::write(WriteFile { path, content, mode: None, owner: None, append: false })
}

/// Enables and starts a unit. A unit that is not there, and a mount of what a node has not, are warnings. Another one that
/// fails is shown with the end of its log, because `systemctl` only says that it failed. When the time ends, it is stopped:
/// systemd runs it, so that it is not in the process group of the step.
fn start(name: &str, is_mount: bool) -> Step {
    let unit = quote(name);
    let missing = quote(&format!("{name} is not started: the node image has no such unit"));
    let failed = if is_mount {
        let warning = quote(&format!("{name} is not mounted: a node has no disks of its own"));
        format!("printf '%s\\n' {warning} >>\"${WARNINGS_VARIABLE}\"; exit 0")
    } else {
        format!("journalctl --no-pager -q -o cat -n {LOG_LINES} -u {unit} >&2; exit \"$code\"")
    };
    let stop = quote(&format!("systemctl stop --no-block -- {unit}; exit 143"));
    let text = format!(
        "systemctl cat -- {unit} >/dev/null 2>&1 || {{ printf '%s\\n' {missing} >>\"${WARNINGS_VARIABLE}\"; exit 0; }}\n\
         trap {stop} TERM\n\
         systemctl enable --now -- {unit} || {{ code=$?; {failed}; }}\n"
    );
    Step::own(format!("systemctl enable --now {name}"), text)
}
