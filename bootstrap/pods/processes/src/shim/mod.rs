//! The shim: the first act of a container's process. It runs in a process of its own, alone, and ends by becoming the container's program.

mod identity;
mod mounts;
mod network;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::instruction::{Instruction, Isolation};

pub use identity::user_namespace;

/// The name under which this program is a shim.
pub const NAME: &str = "firstlight-container";
/// A variable with which the allocator starts no thread. Only a process with one thread can enter a user namespace.
pub const ONE_THREAD: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
/// The exit code of a shim that could not start the program.
pub const CANNOT_START: i32 = 127;
/// The largest instruction in bytes.
const LONGEST: u64 = 16 << 20;

/// Whether this program becomes a shim when it is started as one. Any other program, for example a test, would do what it always does.
static IS_OFFERED: AtomicBool = AtomicBool::new(false);

/// Returns whether this program can be started as a shim.
pub(crate) fn is_offered() -> bool {
    IS_OFFERED.load(Ordering::Relaxed)
}

/// Acts as shim if this process was started as one, and does not return then. A program that runs containers calls it first of all.
pub fn run_if_started_as_one() {
    IS_OFFERED.store(true, Ordering::Relaxed);
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        let error = run();
        // The supervisor shows the last line of the output of a process that failed.
        drop(writeln!(io::stderr(), "the container cannot start: {error:#}"));
        std::process::exit(CANNOT_START);
    }
}

/// Returns only if something fails.
fn run() -> anyhow::Error {
    match prepare() {
        Ok(mut command) => {
            anyhow::Error::new(command.exec()).context(format!("cannot run {:?}", command.get_program()))
        }
        Err(error) => error,
    }
}

fn prepare() -> Result<Command> {
    // First, so that a supervisor that ends while this process prepares takes it along. One that ended before leaves an empty input.
    die_with_parent()?;
    let instruction = read()?;
    if let Some(namespaces) = &instruction.namespaces {
        network::join(namespaces)?;
    }
    match instruction.isolation {
        Isolation::Root => mounts::enter(&instruction)?,
        Isolation::UserNamespace => {
            identity::user_namespace(instruction.user, instruction.group)?;
            mounts::enter(&instruction)?;
        }
        Isolation::None => {}
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

fn read() -> Result<Instruction> {
    let mut text = Vec::new();
    io::stdin().take(LONGEST + 1).read_to_end(&mut text).context("cannot read the instruction")?;
    ensure!(text.len() as u64 <= LONGEST, "the instruction has more than {LONGEST} bytes");
    serde_json::from_slice(&text).context("there is no instruction: the supervisor has ended")
}

fn command(instruction: &Instruction) -> Result<Command> {
    let (program, arguments) = instruction.command.split_first().context("there is no command")?;
    std::env::set_current_dir(&instruction.working_directory)
        .with_context(|| format!("the working directory {} cannot be used", instruction.working_directory))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(instruction.environment.iter().cloned());
    let nothing = File::open("/dev/null").context("cannot open /dev/null")?;
    command.stdin(Stdio::from(nothing));
    Ok(command)
}
