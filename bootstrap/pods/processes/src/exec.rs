//! The way into a container that runs, for further programs in it: probes and hooks.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, setns};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tokio::io::Interest;

use crate::cgroup::Group;
use crate::instruction::{Inside, Instruction, Isolation};
use crate::process::{Process, Running, Surroundings};
use crate::shim;

/// The way into a container.
#[derive(Clone)]
pub struct Exec {
    instruction: Arc<Instruction>,
    running: Arc<Running>,
    group: Option<Weak<Group>>,
}

/// The namespaces of a container. They stay the same whatever becomes of its processes.
pub(crate) struct Held {
    mounts: File,
    user: Option<File>,
    processes: Option<File>,
}

impl Exec {
    pub(crate) fn new(instruction: Arc<Instruction>, running: Running, group: Option<Weak<Group>>) -> Self {
        Self { instruction, running: Arc::new(running), group }
    }

    /// Starts a program in the container, as the user and with the variables of its first one. Without a root folder of its own, a container
    /// has the paths of this machine.
    ///
    /// # Errors
    /// The container has ended, or its program could not be started.
    pub async fn run(&self, command: Vec<String>) -> Result<Process> {
        // The shim has become the program then, or has ended.
        let started = self.running.input.ready(Interest::ERROR).await;
        started.context("cannot wait for the container's program")?;
        let has_root = self.instruction.isolation.has_own_root();
        let held = if has_root { Some(self.hold()?) } else { None };
        let mut instruction = self.instruction.as_ref().clone();
        instruction.command = command;
        instruction.mounts.clear();
        instruction.is_first = false;
        instruction.inside = held.as_ref().map(Held::paths);
        let group = self.group.as_ref().and_then(Weak::upgrade);
        let (process, _) = Process::start(Arc::new(instruction), Surroundings { group, held }).await?;
        Ok(process)
    }

    /// Opens the namespaces of the container.
    fn hold(&self) -> Result<Held> {
        let isolation = self.instruction.isolation;
        let process = first(self.running.pid, isolation).context("the container has not started yet")?;
        let folder = Path::new("/proc").join(process.to_string());
        let command = fs::read(folder.join("cmdline")).context("the container has ended")?;
        let is_shim = command.split(|byte| *byte == 0).next().is_some_and(shim::is_shim);
        // The namespaces of a shim may still be those of this machine. Once it has become the program, they never change.
        ensure!(!is_shim && !command.is_empty(), "the container has not started yet");
        let open = |name: &str| {
            File::open(folder.join("ns").join(name))
                .with_context(|| format!("cannot open its namespace {name}"))
        };
        let (user, processes) = match isolation {
            Isolation::Root => (None, Some(open("pid")?)),
            // Its namespace of processes could be entered from within its user namespace only.
            Isolation::UserNamespace | Isolation::UserMounts => (Some(open("user")?), None),
            Isolation::None => (None, None),
        };
        let held = Held { mounts: open("mnt")?, user, processes };
        // Its number meant this process all the time if nobody has waited for it until now.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let state = waitid(WaitId::PidFd(self.running.pidfd.as_fd()), options);
        let is_same = first(self.running.pid, isolation) == Some(process);
        ensure!(matches!(state, Ok(None)) && is_same, "the container has ended");
        Ok(held)
    }
}

/// Returns the number of the first process of a container whose supervised process has this number. Without root, it is a child of that.
pub(crate) fn first(pid: u32, isolation: Isolation) -> Option<u32> {
    if isolation == Isolation::Root {
        return Some(pid);
    }
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

impl Held {
    /// Makes the next child of this thread a process of the container.
    pub(crate) fn enter_processes(&self) -> Result<()> {
        match &self.processes {
            Some(file) => setns(file, CloneFlags::CLONE_NEWPID)
                .context("cannot enter the container's namespace of processes"),
            None => Ok(()),
        }
    }

    fn paths(&self) -> Inside {
        let path = |file: &File| -> PathBuf {
            Path::new("/proc").join(std::process::id().to_string()).join(format!("fd/{}", file.as_raw_fd()))
        };
        Inside { user: self.user.as_ref().map(path), mounts: path(&self.mounts) }
    }
}
