//! The shim: the first act of a container's process. It runs in a process of its own, alone, and ends by becoming the container's program.

mod guard;
mod identity;
mod inside;
mod mounts;
mod network;
mod parent;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::framed;
use crate::instruction::{Instruction, Isolation};

pub use identity::user_namespace;

/// The name under which this program is a shim.
pub const NAME: &str = "firstlight-container";
/// The name of a shim that becomes the first process of its container, and is a child of another shim.
const INNER: &str = "firstlight-container-1";
/// A variable with which the allocator starts no thread. Only a process with one thread can enter a user namespace.
pub const ONE_THREAD: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
/// The exit code of a shim that could not start the program.
pub const CANNOT_START: i32 = 127;
/// The largest instruction in bytes.
pub(crate) const LONGEST: u64 = 16 << 20;

/// Whether this program becomes a shim when it is started as one. Any other program, for example a test, would do what it always does.
static IS_OFFERED: AtomicBool = AtomicBool::new(false);

/// Returns whether this program can be started as a shim.
pub(crate) fn is_offered() -> bool {
    IS_OFFERED.load(Ordering::Relaxed)
}

/// Acts as shim if this process was started as one, and does not return then. A program that runs containers calls it first of all.
pub fn run_if_started_as_one() {
    IS_OFFERED.store(true, Ordering::Relaxed);
    let name = std::env::args_os().next().unwrap_or_default();
    if is_shim(name.as_encoded_bytes()) {
        let error = run(name == INNER);
        // The supervisor shows the last line of the output of a process that failed.
        drop(writeln!(io::stderr(), "the container cannot start: {error:#}"));
        std::process::exit(CANNOT_START);
    }
}

/// Returns whether this is the name of a shim.
pub(crate) fn is_shim(name: &[u8]) -> bool {
    [NAME, INNER].iter().any(|own| own.as_bytes() == name)
}

/// Returns only if something fails.
fn run(is_inner: bool) -> anyhow::Error {
    // The supervisor sees that the program runs when this file is closed, by `exec` at last.
    let mut input = match io::stdin().as_fd().try_clone_to_owned() {
        Ok(input) => Some(input),
        Err(error) => return anyhow::Error::new(error).context("there is no input"),
    };
    let error = match prepare(is_inner, &mut input) {
        Ok(mut command) => {
            anyhow::Error::new(command.exec()).context(format!("cannot run {:?}", command.get_program()))
        }
        Err(error) => error,
    };
    drop(input);
    error
}

fn prepare(is_inner: bool, input: &mut Option<OwnedFd>) -> Result<Command> {
    // First, so that a supervisor that ends while this process prepares takes it along. One that ended before leaves an empty input.
    die_with_parent()?;
    let told = input.as_ref().context("there is no input")?;
    let instruction: Instruction = framed::read(told, LONGEST, "the supervisor")?;
    let inside = instruction.inside.as_ref().map(inside::open).transpose()?;
    if let Some(namespaces) = instruction.namespaces.as_ref().filter(|_| !is_inner) {
        network::join(namespaces)?;
    }
    if instruction.has_parent() && !is_inner {
        parent::run(&instruction, input.take())?;
    }
    match (inside, instruction.isolation) {
        (Some(inside), _) => inside::enter(&inside)?,
        (None, Isolation::Root | Isolation::UserNamespace) => mounts::enter(&instruction)?,
        (None, Isolation::UserMounts) => {
            identity::user_namespace(instruction.user, instruction.group)?;
            mounts::enter(&instruction)?;
        }
        (None, Isolation::None) => {}
    }
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if instruction.isolation == Isolation::Root {
        identity::become_user(instruction.user, instruction.group, &instruction.groups)?;
    }
    identity::renounce(&instruction)?;
    // A change of the user resets it.
    die_with_parent()?;
    if instruction.is_trial() {
        std::process::exit(0);
    }
    command(&instruction)
}

fn die_with_parent() -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot be bound to its supervisor")
}

fn command(instruction: &Instruction) -> Result<Command> {
    let (program, arguments) = instruction.command.split_first().context("there is no command")?;
    std::env::set_current_dir(&instruction.working_directory)
        .with_context(|| format!("the working directory {} cannot be used", instruction.working_directory))?;
    // A path of `/proc` could lead to a folder of this machine that is open here.
    std::env::current_dir().context("the working directory lies outside of the container")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(instruction.environment.iter().cloned());
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    command.stdin(Stdio::from(nothing));
    Ok(command)
}
