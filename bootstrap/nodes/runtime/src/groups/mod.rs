//! Control groups of containers, of both versions of the kernel's interface (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1 of Linux).
//!
//! Each container has a group in every hierarchy that is mounted, below the group of its data directory at the top: `firstlight-ID/NAME`.
//! Only processes of the container are in it: systemd in the container would read any other as process 0, and fail. Groups at the top
//! are not those of the server's unit, so that nothing that ends the unit ends a container.

mod group;
mod hierarchies;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use group::Group;
pub use hierarchies::{Hierarchy, Version, parse};

/// Returns the version of the control groups in which containers are.
///
/// # Errors
/// The machine mounts no control groups that containers can use.
pub fn version() -> Result<Version> {
    Groups::find("").map(|groups| groups.version())
}

/// The group of the supervisors; no container has such a name.
const SUPERVISORS: &str = "_supervisors";
/// What a kubelet needs.
const NEEDED: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

/// All hierarchies of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    hierarchies: Vec<Hierarchy>,
    version: Version,
    /// The name of the group of the data directory.
    top: String,
}

impl Groups {
    /// Finds the hierarchies.
    ///
    /// # Errors
    /// The machine mounts no control groups that containers can use.
    pub(crate) fn find(identity: &str) -> Result<Self> {
        let mounts =
            fs::read_to_string("/proc/self/mountinfo").context("cannot read /proc/self/mountinfo")?;
        let hierarchies = parse(&mounts);
        let version = hierarchies::version(&hierarchies)?;
        Ok(Self { hierarchies, version, top: format!("firstlight-{identity}") })
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns the controllers that a kubelet needs, and that groups of containers do not have.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let unified = self.hierarchies.iter().find(|one| one.is_unified() && self.version == Version::Two);
        let available = match unified {
            Some(one) => fs::read_to_string(one.path.join("cgroup.controllers")).unwrap_or_default(),
            None => {
                self.hierarchies.iter().flat_map(|one| one.controllers.clone()).collect::<Vec<_>>().join(" ")
            }
        };
        let has = |name: &str| available.split_whitespace().any(|other| other == name);
        NEEDED.into_iter().filter(|name| !has(name)).collect()
    }

    pub(crate) fn hierarchies(&self) -> &[Hierarchy] {
        &self.hierarchies
    }

    /// Returns the group of a container, whether it exists or not.
    pub(crate) fn group(&self, name: &str) -> Group {
        let folder = |hierarchy: &Hierarchy| hierarchy.path.join(&self.top).join(name);
        Group::new(self.hierarchies.iter().map(|one| (one.clone(), folder(one))).collect())
    }

    /// Makes the group of a container, in which nothing runs yet.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(crate) fn make(&self, name: &str) -> Result<Group> {
        for hierarchy in &self.hierarchies {
            let top = hierarchy.path.join(&self.top);
            if hierarchy.is_unified() && self.version == Version::Two {
                enable(&hierarchy.path)?;
            }
            make(hierarchy, &top)?;
            if hierarchy.is_unified() && self.version == Version::Two {
                enable(&top)?;
            }
            make(hierarchy, &top.join(name))?;
        }
        Ok(self.group(name))
    }

    /// Puts this process into the group of supervisors, out of that of the server.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(crate) fn enter_supervisors(&self) -> Result<()> {
        let group = self.make(SUPERVISORS)?;
        group.add(std::process::id())
    }

    /// Removes the group of the data directory, if no container and no supervisor is in it.
    pub(crate) fn remove_empty(&self) {
        for hierarchy in &self.hierarchies {
            let top = hierarchy.path.join(&self.top);
            // One that is in use stays.
            fs::remove_dir(top.join(SUPERVISORS)).ok();
            fs::remove_dir(&top).ok();
        }
    }

    /// Returns whether the group of the data directory exists in any hierarchy.
    pub(crate) fn exist(&self) -> bool {
        self.hierarchies.iter().any(|hierarchy| hierarchy.path.join(&self.top).exists())
    }
}

fn make(hierarchy: &Hierarchy, folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot make the control group {}", folder.display()));
        }
        _ => {}
    }
    if hierarchy.controllers.iter().any(|name| name == "cpuset") && !hierarchy.is_unified() {
        // With version 1, no process can be in a group before it has these.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            inherit(folder, file)?;
        }
    }
    Ok(())
}

fn inherit(folder: &Path, file: &str) -> Result<()> {
    let path = folder.join(file);
    let cannot = || format!("cannot set {}", path.display());
    if fs::read_to_string(&path).with_context(cannot)?.trim().is_empty() {
        let above = folder.parent().unwrap_or(folder).join(file);
        fs::write(&path, fs::read_to_string(above).with_context(cannot)?.trim()).with_context(cannot)?;
    }
    Ok(())
}

/// Gives the groups below a folder all controllers that the folder has. Version 2 only.
fn enable(folder: &Path) -> Result<()> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let (available, enabled) = (read("cgroup.controllers"), read("cgroup.subtree_control"));
    let file: PathBuf = folder.join("cgroup.subtree_control");
    for name in available.split_whitespace() {
        if enabled.split_whitespace().any(|other| other == name) {
            continue;
        }
        let written = fs::write(&file, format!("+{name}"));
        if NEEDED.contains(&name) {
            written.with_context(|| {
                format!(
                    "cannot enable the controller {name} in {}: if this machine is a container itself, move its \
                     processes out of its topmost group first",
                    file.display()
                )
            })?;
        }
    }
    Ok(())
}
