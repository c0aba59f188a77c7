//! A program that is run in a container: two processes of this program.
//!
//! The parent stays outside, and ends the process group of the program when the server wants it or has ended. Its child is in the
//! container's namespace of processes from its beginning, puts itself into the control groups, enters the other namespaces, and becomes the program.
//! So no process that is outside of the container is ever in its control groups.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{SigSet, Signal as Received};
use pod_processes::framed;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal,
};
use serde::{Deserialize, Serialize};

use super::init::PATH;
use crate::groups::Groups;
use crate::process::ProcessId;

/// The largest instruction in bytes.
pub(crate) const LONGEST: u64 = 4 << 20;
/// The exit codes of shells for a program that is not there, and for one that cannot be run.
const NOT_FOUND: i32 = 127;
const CANNOT_RUN: i32 = 126;
/// The exit code of `docker exec` if it fails itself.
const FAILED: i32 = 125;

/// What both processes are told on their standard input, before what the program reads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Instruction {
    /// The init of the container.
    pub(crate) init: ProcessId,
    /// The identity of the data directory, and the name of the container.
    pub(crate) identity: String,
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
}

impl Instruction {
    /// Returns the input of both processes: the instruction twice, each with its length before it.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        Ok(framed::encode(self, LONGEST)?.repeat(2))
    }
}

fn read() -> Result<Instruction> {
    framed::read(std::io::stdin(), LONGEST, "the server")
}

/// Runs the program and returns its exit code.
pub(super) fn run() -> i32 {
    supervise().unwrap_or_else(|error| {
        super::complain(std::io::stderr(), &error);
        FAILED
    })
}

fn supervise() -> Result<i32> {
    let signals: SigSet = [Received::SIGTERM, Received::SIGCHLD].into_iter().collect();
    signals.thread_block().context("cannot wait for signals")?;
    // Not SIGKILL, which would leave no time to end the others.
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot be bound to the server")?;
    let instruction = read()?;
    let init = instruction.init.open().context("the container has ended")?;
    setns(init, CloneFlags::CLONE_NEWPID).context("cannot enter the processes of the container")?;
    let mut command = super::command(super::EXEC_INSIDE)?;
    let mut child =
        command.stdin(Stdio::inherit()).process_group(0).spawn().context("cannot start a process")?;
    // Whoever writes sees that nobody reads any more when the program has ended.
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    nix::unistd::dup2_stdin(&nothing).context("cannot leave the input")?;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the program")? {
            return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        }
        if signals.wait().context("cannot wait for signals")? == Received::SIGTERM {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            group.map(|group| kill_process_group(group, Signal::KILL).ok());
        }
    }
}

/// Becomes the program. Returns only if something fails.
pub(super) fn run_inside() -> i32 {
    let mut command = match enter() {
        Ok(command) => command,
        Err(error) => {
            super::complain(std::io::stderr(), &error);
            return FAILED;
        }
    };
    let error = command.exec();
    let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
    let program = command.get_program().to_owned();
    drop(writeln!(std::io::stderr(), "cannot run {}: {error}", program.display()));
    code
}

fn enter() -> Result<Command> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be bound to the server")?;
    let instruction = read()?;
    Groups::find(&instruction.identity)?.group(&instruction.name).add(0)?;
    // In this namespace of processes, the init is process 1.
    let init = pidfd_open(Pid::INIT, PidfdFlags::empty()).context("the container has ended")?;
    setns(
        init,
        CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWCGROUP,
    )
    .context("cannot enter the container")?;
    std::env::set_current_dir("/").context("cannot enter the root folder of the container")?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let (program, arguments) = instruction.command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("HOME", "/root").envs(&instruction.environment);
    Ok(command)
}
