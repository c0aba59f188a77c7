//! The parent of a container's first process, where root's namespaces are not to be had. A user without privileges can make a namespace of processes
//! only within a user namespace, which this process has to enter first; its child is the first one in the new namespace. Without such a namespace, it
//! is the container's guard.

use std::convert::Infallible;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, getpid, kill_process};
use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};

use super::guard::Guard;
use super::{INNER, ONE_THREAD, die_with_parent, identity};
use crate::instruction::Instruction;

/// Starts the first process of a container, which reads the same instruction once more, and ends as that does. Returns only if something fails.
pub(super) fn run(instruction: &Instruction, input: Option<OwnedFd>) -> Result<()> {
    let never: Infallible = start(instruction, input)?;
    match never {}
}

fn start(instruction: &Instruction, input: Option<OwnedFd>) -> Result<Infallible> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(INNER).env_clear().envs([ONE_THREAD]).stdin(Stdio::inherit());
    let guard = if instruction.is_guarded() {
        // A signal that a program sends to its group is not meant for the guard.
        command.process_group(0);
        Some(Guard::begin()?)
    } else {
        make_namespaces(instruction)?;
        None
    };
    let mut child = command.spawn().context("cannot start the first process")?;
    // The supervisor waits until nobody reads its instructions any more.
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    nix::unistd::dup2_stdin(&nothing).context("cannot leave the input")?;
    drop(input);
    if let Some(guard) = guard {
        return guard.watch(child.id());
    }
    let status = child.wait().context("cannot wait for the first process")?;
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // Its supervisor sees the same signal.
        kill_process(getpid(), signal).ok();
    }
    std::process::exit(status.code().unwrap_or(super::CANNOT_START));
}

fn make_namespaces(instruction: &Instruction) -> Result<()> {
    identity::user_namespace(instruction.user, instruction.group)?;
    // A change of rights may reset it.
    die_with_parent()?;
    keep_capability()?;
    unshare(CloneFlags::CLONE_NEWPID).context("cannot make a namespace of processes")
}

/// Lets the next program of this process make mounts in its user namespace, in which it is not root.
fn keep_capability() -> Result<()> {
    let kept = CapabilitySet::SYS_ADMIN;
    let mut sets = capabilities(None).context("cannot read the capabilities")?;
    sets.inheritable |= kept;
    set_capabilities(None, sets).context("cannot keep a capability")?;
    configure_capability_in_ambient_set(kept, true).context("cannot keep a capability")
}
