//! The group of one start of a container.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use super::Version;

/// The pause between two attempts to remove a group whose processes are ending.
const AGAIN: Duration = Duration::from_millis(5);
/// The number of attempts.
const ATTEMPTS: usize = 200;

/// A group. Dropping it kills its processes and removes it.
#[derive(Debug)]
pub struct Group {
    version: Version,
    folders: Vec<PathBuf>,
}

impl Group {
    pub(super) fn new(version: Version, folders: Vec<PathBuf>) -> Self {
        Self { version, folders }
    }

    /// Returns the folders of the group.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Puts a process into the group; its later children are in it, too.
    ///
    /// # Errors
    /// The process has ended, or the kernel refuses it.
    pub fn add(&self, process: u32) -> Result<()> {
        for folder in &self.folders {
            fs::write(folder.join("cgroup.procs"), process.to_string())
                .with_context(|| format!("cannot put the process into {}", folder.display()))?;
        }
        Ok(())
    }

    /// Returns whether the kernel has killed a process of it for want of memory.
    pub fn ran_out_of_memory(&self) -> bool {
        let name = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let texts = self.folders.iter().filter_map(|folder| fs::read_to_string(folder.join(name)).ok());
        let killed = |text: &String| {
            let mut counts = text.lines().filter_map(|line| line.strip_prefix("oom_kill "));
            counts.any(|count| count.trim() != "0")
        };
        texts.into_iter().any(|text| killed(&text))
    }

    /// Kills all its processes.
    pub fn kill(&self) {
        for folder in &self.folders {
            // Kernels before 5.14 do not have this file.
            if folder.join("cgroup.kill").exists() {
                fs::write(folder.join("cgroup.kill"), "1").ok();
                continue;
            }
            let processes = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            let numbers = processes.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?));
            // A process may end by itself before.
            numbers.for_each(|process| {
                kill_process(process, Signal::KILL).ok();
            });
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..ATTEMPTS {
            // A group with processes cannot be removed.
            self.folders.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
            if self.folders.iter().all(|folder| !folder.join("cgroup.procs").exists()) {
                return;
            }
            self.kill();
            // It runs in a thread of its own that waits for the container's process.
            thread::park_timeout(AGAIN);
        }
    }
}
