//! A process that a later server finds again.

use std::fs;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process. Numbers are used again, so that the time of its start and the start of the machine belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessId {
    /// Its number on the machine.
    pub(crate) pid: u32,
    /// When it was started, in ticks since the start of the machine (proc_pid_stat(5), field 22).
    started: u64,
    /// The identifier of the start of the machine (`/proc/sys/kernel/random/boot_id`).
    boot: String,
}

impl ProcessId {
    /// Returns the process that has this number now.
    ///
    /// # Errors
    /// The process does not exist.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let started = read_start(pid).with_context(|| format!("there is no process {pid}"))?;
        Ok(Self { pid, started, boot: boot()? })
    }

    /// Opens it; `None` if it has ended.
    pub(crate) fn open(&self) -> Option<OwnedFd> {
        let number = Pid::from_raw(i32::try_from(self.pid).ok()?)?;
        let opened = pidfd_open(number, PidfdFlags::empty()).ok()?;
        // After it is open, what has its number is it or nothing.
        let is_same = boot().ok()? == self.boot && read_start(self.pid) == Some(self.started);
        is_same.then_some(opened)
    }

    /// Returns whether it runs.
    pub(crate) fn is_alive(&self) -> bool {
        self.open().is_some()
    }

    /// Sends it a signal; one that has ended gets none.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let Some(process) = self.open() else { return Ok(()) };
        match pidfd_send_signal(process, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("cannot send a signal to process {}", self.pid)),
        }
    }
}

/// Returns the identifier of the start of the machine.
pub(crate) fn boot() -> Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    Ok(text.context("cannot read /proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Returns when a process was started; `None` if it has ended.
fn read_start(pid: u32) -> Option<u64> {
    start(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Finds the time of the start in a line of proc_pid_stat(5); `None` if the process has ended and nobody has waited for it.
pub(crate) fn start(stat: &str) -> Option<u64> {
    // The name, in parentheses, may have spaces and parentheses itself.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}
