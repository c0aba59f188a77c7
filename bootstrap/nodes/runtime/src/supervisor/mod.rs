//! The processes of this program beside the server, which are this program started again under another name:
//!
//! - the supervisor ([`mod@watch`]), one for each container that runs. It stays outside of the container, in its own session and control group.
//! - the first process of a container ([`init`]), which becomes the container's init, or goes on as a balancer ([`balancer`]).
//! - the parent of a program that is run in a container, and that program before it is one ([`exec`]).

mod balancer;
mod console;
mod exec;
mod init;
mod mounts;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, ensure};
use std::process::Command;

pub use balancer::renounce;
pub(crate) use console::before;
pub(crate) use exec::Instruction;

/// The names under which this program is started.
pub(crate) const SUPERVISOR: &str = "firstlight-node";
pub(crate) const INIT: &str = "firstlight-node-init";
pub(crate) const EXEC: &str = "firstlight-node-exec";
pub(crate) const EXEC_INSIDE: &str = "firstlight-node-exec-inside";

/// A function that is called at each step with the data directory and the name of the step, so that tests can end the process there.
pub type Steps = fn(&Path, &str);

/// Steps that nobody looks at.
pub fn no_steps(_: &Path, _: &str) {}

/// Whether this program becomes a supervisor when it is started as one. Any other program would do what it always does.
static STEPS: OnceLock<Steps> = OnceLock::new();

/// Acts as supervisor or as what it starts if this process was started as one, and does not return then. A program with system containers
/// calls it first of all.
pub fn run_if_started_as_one() {
    run_with_steps(no_steps);
}

/// The same, with a function that is called at each step.
pub fn run_with_steps(steps: Steps) {
    STEPS.set(steps).ok();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let path = |argument: Option<OsString>| PathBuf::from(argument.unwrap_or_default());
    if [SUPERVISOR, INIT, EXEC, EXEC_INSIDE].iter().any(|own| name == *own) {
        close_inherited();
    }
    match name.to_str() {
        Some(SUPERVISOR) => std::process::exit(watch::run(&path(arguments.next()), steps)),
        Some(INIT) => std::process::exit(init::run(&path(arguments.next()))),
        Some(EXEC) => std::process::exit(exec::run()),
        Some(EXEC_INSIDE) => std::process::exit(exec::run_inside()),
        _ => {}
    }
}

/// Closes all files but the standard input and outputs: whoever has started the server may have left some open, which no container may have.
fn close_inherited() {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // That of the list itself is closed already.
        nix::unistd::close(number).ok();
    }
}

/// Returns the command that starts this program under another name.
///
/// # Errors
/// It would not become one.
pub(crate) fn command(name: &str) -> Result<Command> {
    use std::os::unix::process::CommandExt;

    ensure!(STEPS.get().is_some(), "this program does not run containers");
    let mut command = Command::new("/proc/self/exe");
    command.arg0(name).env_clear().envs([pod_processes::shim::ONE_THREAD]).current_dir("/");
    Ok(command)
}

/// Writes an error to a stream that may be closed.
fn complain(mut stream: impl Write, error: &anyhow::Error) {
    drop(writeln!(stream, "{error:#}"));
}
