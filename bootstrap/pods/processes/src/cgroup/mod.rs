//! Control groups: the limits of CPU and memory of a container, of both versions of the kernel's interface
//! (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of Linux).
//!
//! Each start of a container gets a [`Group`] below the group of this server. A group of a server that has ended is removed by the next one, with
//! whatever still runs in it.

mod group;
mod limits;
mod mounts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};

pub use group::Group;
pub use limits::Limits;
use mounts::Found;

/// The prefix of the names of all groups; the number of the server's process and that of the group follow.
const PREFIX: &str = "firstlight-";
/// What limits need.
const CONTROLLERS: [&str; 2] = ["memory", "cpu"];

/// The version of the kernel's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree of groups for each resource.
    One,
    /// One tree for all resources.
    Two,
}

/// The place where this server may make groups.
#[derive(Clone, Debug)]
pub struct Cgroups(Arc<Place>);

#[derive(Debug)]
struct Place {
    version: Version,
    /// The folders in which groups are made: one, or with version 1 that of memory and that of CPU.
    parents: Vec<PathBuf>,
    next: AtomicU64,
}

impl Cgroups {
    /// Finds the place, and removes what a server that was killed has left there.
    ///
    /// # Errors
    /// This machine has no such place, or this user may make no groups in it.
    pub fn find() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
        let found = mounts::find(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)?;
        match found {
            Found::One(parents) => {
                let place = Self::at(Version::One, parents);
                place.sweep();
                // The first group shows whether it is allowed.
                drop(place.make(&Limits::default())?);
                Ok(place)
            }
            Found::Two { own, mount } => {
                let place = Self::at(Version::Two, vec![own.clone()]);
                place.sweep();
                let Err(error) = delegate(&own) else { return Ok(place) };
                // Root may use the top of the tree, where other programs keep their groups, too.
                if has_controllers(&mount.join("cgroup.subtree_control")) {
                    let place = Self::at(Version::Two, vec![mount]);
                    place.sweep();
                    if place.make(&Limits::default()).is_ok() {
                        return Ok(place);
                    }
                }
                Err(error)
            }
        }
    }

    /// Returns the place with these folders.
    pub fn at(version: Version, parents: Vec<PathBuf>) -> Self {
        Self(Arc::new(Place { version, parents, next: AtomicU64::new(0) }))
    }

    /// Makes a group without processes.
    ///
    /// # Errors
    /// It cannot be made, or the kernel refuses a limit. Nothing of it remains then.
    pub fn make(&self, limits: &Limits) -> Result<Group> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let folders: Vec<PathBuf> = self.0.parents.iter().map(|parent| parent.join(&name)).collect();
        let group = Group::new(self.0.version, folders.clone());
        for folder in &folders {
            fs::create_dir(folder).with_context(|| format!("cannot make the group {}", folder.display()))?;
        }
        for setting in limits.settings(self.0.version) {
            let folder = if setting.file.starts_with("cpu.") { folders.last() } else { folders.first() };
            let Some(file) = folder.map(|folder| folder.join(setting.file)) else { continue };
            let written = fs::write(&file, &setting.value);
            if setting.is_needed {
                written.with_context(|| format!("cannot write {:?} to {}", setting.value, file.display()))?;
            }
        }
        Ok(group)
    }

    /// Ends what is left in the groups of servers that have ended.
    fn sweep(&self) {
        let Some(first) = self.0.parents.first() else { return };
        let entries = fs::read_dir(first).into_iter().flatten().flatten();
        for name in entries.map(|entry| entry.file_name().to_string_lossy().into_owned()) {
            if server(&name).is_some_and(|server| !Path::new("/proc").join(server.to_string()).exists()) {
                let folders = self.0.parents.iter().map(|parent| parent.join(&name)).collect();
                drop(Group::new(self.0.version, folders));
            }
        }
    }
}

/// Returns the number of the server's process in the name of a group.
fn server(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

/// Makes `own`, the group of this process, one in which groups with limits can be made. With version 2, a group with such groups may have no
/// processes itself, so this one moves into a group of its own.
fn delegate(own: &Path) -> Result<()> {
    let enabled = own.join("cgroup.subtree_control");
    if has_controllers(&enabled) {
        return fs::create_dir(trial(own))
            .and_then(|()| fs::remove_dir(trial(own)))
            .with_context(|| format!("groups cannot be made in {}", own.display()));
    }
    ensure!(
        has_controllers(&own.join("cgroup.controllers")),
        "the group {} has no limits of memory and CPU; systemd gives them with Delegate=yes",
        own.display()
    );
    let processes = fs::read_to_string(own.join("cgroup.procs"))
        .with_context(|| format!("cannot read the processes of {}", own.display()))?;
    let ids: Vec<u32> = processes.lines().filter_map(|line| line.parse().ok()).collect();
    if let Some(other) = ids.iter().find(|id| !is_own(**id)) {
        bail!("the process {other} is in the group {}, too, so its limits cannot be divided", own.display());
    }
    let server = own.join(format!("{PREFIX}{}-server", std::process::id()));
    fs::create_dir(&server).with_context(|| format!("groups cannot be made in {}", own.display()))?;
    let moved = ids.iter().try_for_each(|id| fs::write(server.join("cgroup.procs"), id.to_string()));
    let divided = moved.and_then(|()| fs::write(&enabled, "+memory +cpu"));
    divided.with_context(|| format!("the limits of {} cannot be divided", own.display()))
}

fn trial(own: &Path) -> PathBuf {
    own.join(format!("{PREFIX}{}-trial", std::process::id()))
}

/// Returns whether a file lists the controllers that limits need.
fn has_controllers(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    CONTROLLERS.iter().all(|wanted| text.split_whitespace().any(|found| found == *wanted))
}

/// Returns whether a process is this one or a child of it.
fn is_own(id: u32) -> bool {
    let own = std::process::id();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
    id == own || parent == Some(own)
}
