//! The control group of one container.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::Hierarchy;

/// The group in which systemd puts itself. With version 2, further programs belong there, too: a group that gives controllers to groups below it can
/// have no processes, and systemd could not do that while one is in its topmost group.
const INIT: &str = "init.scope";

/// The group of a container: a folder in each hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    folders: Vec<(Hierarchy, PathBuf)>,
}

impl Group {
    pub(super) fn new(folders: Vec<(Hierarchy, PathBuf)>) -> Self {
        Self { folders }
    }

    /// Puts a process into the group. `0` is the writing process itself.
    ///
    /// # Errors
    /// It has ended, or the kernel refuses it.
    pub(crate) fn add(&self, process: u32) -> Result<()> {
        for (hierarchy, folder) in &self.folders {
            let scope = folder.join(INIT);
            let folder = if hierarchy.is_unified() && scope.exists() { &scope } else { folder };
            fs::write(folder.join("cgroup.procs"), process.to_string()).with_context(|| {
                format!("cannot put the process into the control group {}", folder.display())
            })?;
        }
        Ok(())
    }

    /// Freezes its processes, or lets them go on. It takes effect a moment later.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(crate) fn freeze(&self, is_frozen: bool) -> Result<()> {
        let Some((file, states)) = self.freezer() else {
            bail!("no control group of this machine can freeze processes: the kernel has no freezer")
        };
        let state = if is_frozen { states.0 } else { states.1 };
        fs::write(&file, state).with_context(|| format!("cannot write {state} to {}", file.display()))
    }

    /// Returns whether it is frozen, or about to be.
    pub(crate) fn is_frozen(&self) -> bool {
        let Some((file, (_, thawed))) = self.freezer() else { return false };
        fs::read_to_string(file).is_ok_and(|state| state.trim() != thawed)
    }

    /// Returns whether all processes are frozen.
    pub(crate) fn has_frozen(&self) -> bool {
        let Some((file, (frozen, _))) = self.freezer() else { return false };
        // Version 2 says it in another file.
        match fs::read_to_string(file.with_file_name("cgroup.events")) {
            Ok(events) if file.ends_with("cgroup.freeze") => events.lines().any(|line| line == "frozen 1"),
            _ => fs::read_to_string(file).is_ok_and(|state| state.trim() == frozen),
        }
    }

    /// Returns the file that freezes, with its content for both states.
    fn freezer(&self) -> Option<(PathBuf, (&'static str, &'static str))> {
        let first = self
            .folders
            .iter()
            .find(|(hierarchy, _)| hierarchy.controllers.iter().any(|name| name == "freezer"));
        if let Some((_, folder)) = first {
            return Some((folder.join("freezer.state"), ("FROZEN", "THAWED")));
        }
        let (_, folder) = self.folders.iter().find(|(hierarchy, _)| hierarchy.is_unified())?;
        Some((folder.join("cgroup.freeze"), ("1", "0")))
    }

    /// Kills all processes in it and in groups below it.
    pub(crate) fn kill(&self) {
        for (_, folder) in &self.folders {
            // Kernels before 5.14 and version 1 do not have this file.
            if folder.join("cgroup.kill").exists() {
                fs::write(folder.join("cgroup.kill"), "1").ok();
                continue;
            }
            each(folder, &mut |folder| {
                let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
                // Processes of another namespace of processes would be 0.
                let numbers = processes.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
                // A process may end by itself before.
                numbers.for_each(|process| {
                    kill_process(process, Signal::KILL).ok();
                });
            });
        }
    }

    /// Removes it with all groups below it. Returns whether it is gone: processes that are ending keep it for a moment.
    pub(crate) fn remove(&self) -> bool {
        for (_, folder) in &self.folders {
            each(folder, &mut |folder| {
                fs::remove_dir(folder).ok();
            });
        }
        !self.exists()
    }

    /// Returns whether any of its folders exists.
    pub(crate) fn exists(&self) -> bool {
        self.folders.iter().any(|(_, folder)| folder.exists())
    }

    /// Returns the folders that exist.
    pub(crate) fn left(&self) -> Vec<String> {
        let left = self.folders.iter().filter(|(_, folder)| folder.exists());
        left.map(|(_, folder)| folder.display().to_string()).collect()
    }
}

/// Calls a function with a group and all groups below it, the lowest ones first.
fn each(folder: &Path, then: &mut impl FnMut(&Path)) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        each(&entry.path(), then);
    }
    then(folder);
}
