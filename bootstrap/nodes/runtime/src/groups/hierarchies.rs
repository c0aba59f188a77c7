//! The hierarchies of control groups of a machine, from `/proc/self/mountinfo`. Everything here is pure.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// The version of the kernel's interface in which the controllers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree of groups for each controller.
    One,
    /// One tree for all controllers.
    Two,
}

/// A tree of control groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub path: PathBuf,
    /// Its controllers, and `name=systemd` for a tree with a name; nothing for that of version 2.
    pub controllers: Vec<String>,
}

/// Options of a mount of version 1 that are neither controllers nor names (Documentation/admin-guide/cgroup-v1/cgroups.rst).
const NO_CONTROLLERS: [&str; 8] =
    ["rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode", "favordynmods", "all"];

impl Hierarchy {
    /// Returns whether it is that of version 2.
    pub fn is_unified(&self) -> bool {
        self.controllers.is_empty()
    }

    /// Returns the name of its folder in a container.
    pub fn folder(&self) -> String {
        let last = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let own = self.controllers.join(",");
        last.unwrap_or_else(|| own.trim_start_matches("name=").to_owned())
    }
}

/// Finds the hierarchies in the text of proc_pid_mountinfo(5), each once.
pub fn parse(mounts: &str) -> Vec<Hierarchy> {
    let mut devices = Vec::new();
    let mut found = Vec::new();
    for line in mounts.lines() {
        let Some((device, hierarchy)) = hierarchy(line) else { continue };
        // What a process has mounted once more.
        if !devices.contains(&device) {
            devices.push(device);
            found.push(hierarchy);
        }
    }
    found
}

fn hierarchy(line: &str) -> Option<(&str, Hierarchy)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let (device, _root, path) = (place.next()?, place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (kind, options) = (kind.next()?, kind.nth(1)?);
    let is_controller = |name: &&str| !NO_CONTROLLERS.contains(name) && !name.starts_with("release_agent=");
    let controllers: Vec<String> = match kind {
        "cgroup" => options.split(',').filter(is_controller).map(str::to_owned).collect(),
        "cgroup2" => Vec::new(),
        _ => return None,
    };
    (kind == "cgroup2" || !controllers.is_empty())
        .then(|| (device, Hierarchy { path: PathBuf::from(path), controllers }))
}

/// Returns the version that has the controllers of the machine.
///
/// # Errors
/// There are no control groups, or none that containers can use.
pub(super) fn version(hierarchies: &[Hierarchy]) -> Result<Version> {
    let has = |name: &str| hierarchies.iter().any(|one| one.controllers.iter().any(|other| other == name));
    if has("memory") {
        if !has("name=systemd") {
            bail!(
                "the control groups of version 1 have no hierarchy for systemd: make it with \
                 `mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd`"
            );
        }
        return Ok(Version::One);
    }
    if hierarchies.iter().any(Hierarchy::is_unified) {
        return Ok(Version::Two);
    }
    bail!("no control groups are mounted: mount them with `mount -t cgroup2 cgroup2 /sys/fs/cgroup`")
}
