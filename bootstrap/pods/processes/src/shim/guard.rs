//! The parent of a container that has no namespace of processes. When a supervisor or the first process of such a container ends, the kernel
//! leaves the other processes alone. So this one stays beside the container, adopts each process whose parent ends, and ends all of them: with
//! the first one, or with the supervisor, however that ends.

use std::convert::Infallible;
use std::fs;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal as Received};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};

use super::CANNOT_START;

/// The signals that it waits for: its supervisor has ended or wants it to end, or a child has ended.
pub(super) struct Guard(SigSet);

impl Guard {
    /// Begins to adopt processes. It must be called before the first process starts, and with one thread.
    pub(super) fn begin() -> Result<Self> {
        let signals: SigSet = [Received::SIGTERM, Received::SIGCHLD].into_iter().collect();
        signals.thread_block().context("cannot wait for signals")?;
        set_child_subreaper(Some(getpid())).context("cannot adopt processes")?;
        // Not SIGKILL, which would leave no time to end the others.
        set_parent_process_death_signal(Some(Signal::TERM)).context("cannot be bound to its supervisor")?;
        Ok(Self(signals))
    }

    /// Waits until the first process has ended or all must end, and ends as the first process. Returns only if something fails.
    pub(super) fn watch(&self, first: u32) -> Result<Infallible> {
        let mut ended = None;
        loop {
            let signal = self.0.wait().context("cannot wait for signals")?;
            while let Ok(Some((process, status))) = wait(WaitOptions::NOHANG) {
                if is(process, first) {
                    ended = Some(status);
                }
            }
            if signal == Received::SIGTERM || ended.is_some() {
                let last = end_all(first);
                // Otherwise it could not end by the same signal.
                self.0.thread_unblock().ok();
                return end(ended.or(last));
            }
        }
    }
}

fn is(process: Pid, number: u32) -> bool {
    u32::try_from(process.as_raw_nonzero().get()) == Ok(number)
}

/// Ends all processes of the container, and returns how the first one ended if that was among them. The children of a process that is killed become
/// those of this one, and are the next.
fn end_all(first: u32) -> Option<WaitStatus> {
    let mut ended = None;
    loop {
        for child in children() {
            kill_process(child, Signal::KILL).ok();
        }
        match wait(WaitOptions::empty()) {
            Ok(Some((process, status))) if is(process, first) => ended = Some(status),
            Ok(_) => {}
            // There are no children left.
            Err(_) => return ended,
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero();
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
}

fn end(status: Option<WaitStatus>) -> Result<Infallible> {
    let signal = status.and_then(|status| status.terminating_signal()).and_then(Signal::from_named_raw);
    if let Some(signal) = signal {
        // Its supervisor sees the same signal.
        kill_process(getpid(), signal).ok();
    }
    std::process::exit(status.and_then(|status| status.exit_status()).unwrap_or(CANNOT_START));
}
