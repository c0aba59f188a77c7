//! The supervisor of one container: it makes what the container needs of the machine, starts its first process, and stays as long as that runs.
//!
//! Its standard input is the locked file of the container's folder, so that the lock lasts exactly as long as this process. Its standard
//! output is a pipe to the server, which takes one line: what went wrong, or nothing.
//!
//! Its current directory is the container's folder, which it knows by nothing else: the data directory may move while it runs.
//!
//! Invariant: the first process of the container ends with this one, however that ends; so what holds the lock is all that may run.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Steps;
use super::console::Console;
use crate::containers::{Folder, Record, Supervised};
use crate::groups::{Group, Groups};
use crate::limits;
use crate::network;
use crate::process::ProcessId;

/// The pause between two attempts to remove a group whose processes are ending, in nanoseconds.
const AGAIN: i64 = 5_000_000;
/// The number of attempts.
const ATTEMPTS: usize = 400;

/// A container whose init runs.
struct Running {
    child: Child,
    /// The first process.
    process: OwnedFd,
    console: Console,
}

struct Supervisor<'a> {
    folder: Folder,
    record: Record,
    groups: Groups,
    group: Group,
    state: Supervised,
    steps: &'a dyn Fn(&str),
}

/// Supervises a container, and returns the exit code of this process.
pub(super) fn run(path: &Path, steps: Steps) -> i32 {
    let data = path.parent().and_then(Path::parent).unwrap_or(path);
    let entered = std::env::set_current_dir(path);
    let entered = entered.with_context(|| format!("cannot enter {}", path.display()));
    match entered.and_then(|()| supervise(Folder::new("."), &|step| steps(data, step))) {
        Ok(()) => 0,
        Err(error) => {
            super::complain(std::io::stdout(), &error);
            1
        }
    }
}

fn supervise(folder: Folder, steps: &dyn Fn(&str)) -> Result<()> {
    steps("supervisor");
    // The session of the server may have a terminal, which would end this process with it.
    rustix::process::setsid().ok();
    let record = folder.read()?.context("the container has no record")?;
    ensure!(!record.is_removing, "the container is being removed");
    let groups = Groups::find(&record.identity)?;
    let group = groups.group(&record.spec.name);
    let supervisor = ProcessId::of(std::process::id())?;
    let state = Supervised { supervisor, init: None, started: None, code: None, error: None };
    folder.write_supervised(&state)?;
    let mut own = Supervisor { folder, record, groups, group, state, steps };
    match own.start() {
        Ok(running) => {
            own.state.started = Some(Clock::system().now());
            own.folder.write_supervised(&own.state)?;
            steps("started");
            leave_server()?;
            own.watch(running)
        }
        Err(error) => {
            own.clean();
            own.state.error = Some(format!("{error:#}"));
            own.folder.write_supervised(&own.state)?;
            Err(error)
        }
    }
}

/// Says that the container runs, by the end of the output.
fn leave_server() -> Result<()> {
    let nothing = File::options().write(true).open("/dev/null").context("cannot open /dev/null")?;
    nix::unistd::dup2_stdout(&nothing).context("cannot leave the output")
}

impl Supervisor<'_> {
    fn start(&mut self) -> Result<Running> {
        self.groups.enter_supervisors()?;
        // What a supervisor that was killed has left.
        self.clean();
        self.group = self.groups.make(&self.record.spec.name)?;
        (self.steps)("groups");
        let console = Console::open(&self.folder.console())?;
        // Only the next child is in the new namespace, as its process 1.
        unshare(CloneFlags::CLONE_NEWPID).context("cannot make a namespace of processes")?;
        let (own, other) = UnixStream::pair().context("cannot make a socket")?;
        let limit = Some(limits::START);
        own.set_read_timeout(limit)
            .and_then(|()| own.set_write_timeout(limit))
            .context("cannot use a socket")?;
        let mut command = super::command(super::INIT)?;
        let folder = std::env::current_dir().context("the folder of the container is gone")?;
        command.arg(folder).stdin(OwnedFd::from(other)).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the first process")?;
        // It has a copy of the socket, whose end would not be seen here.
        drop(command);
        let prepared = self.prepare(&child, Line(BufReader::new(own)), &console);
        match prepared {
            Ok(process) => Ok(Running { child, process, console }),
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                Err(error)
            }
        }
    }

    /// Does what the first process cannot do itself, and waits until it has become the init.
    fn prepare(&mut self, child: &Child, mut line: Line, console: &Console) -> Result<OwnedFd> {
        (self.steps)("spawned");
        let init = ProcessId::of(child.id())?;
        let process = init.open().context("the first process has ended")?;
        self.state.init = Some(init);
        self.folder.write_supervised(&self.state)?;
        (self.steps)("named");
        self.group.add(child.id())?;
        (self.steps)("grouped");
        let path = console.path.to_str().context("the path of the terminal is not UTF-8")?;
        line.say(path)?;
        line.expect("unshared")?;
        (self.steps)("unshared");
        let network = self.record.network();
        block_on(network::connect(&network, self.record.address, child.id()))?;
        (self.steps)("connected");
        line.say("connected")?;
        line.expect("")?;
        Ok(process)
    }

    /// Copies the console until the init has ended, and removes what was made for it. Without its folder, nobody could end the container any more.
    fn watch(&mut self, mut running: Running) -> Result<()> {
        let again = Timespec::try_from(limits::FOLDER_AGAIN).ok();
        loop {
            let mut wanted =
                [PollFd::new(&running.console, PollFlags::IN), PollFd::new(&running.process, PollFlags::IN)];
            let polled = poll(&mut wanted, again.as_ref());
            // A folder that was removed has no name any more.
            if std::fs::metadata(".").is_ok_and(|folder| folder.nlink() == 0) {
                // A frozen process of version 1 does not end.
                self.group.freeze(false).ok();
                running.child.kill().ok();
            }
            if polled.is_err() {
                // A signal came.
                continue;
            }
            let has_ended = !wanted[1].revents().is_empty();
            running.console.copy();
            if has_ended {
                break;
            }
        }
        running.console.copy();
        let status = running.child.wait().context("cannot wait for the first process")?;
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        (self.steps)("ended");
        if !is_replaced() {
            self.clean();
        }
        self.state.code = Some(code);
        self.folder.write_supervised(&self.state)
    }

    /// Removes what was made of the machine for one start of the container. What stays is removed with the container.
    fn clean(&self) {
        for _ in 0..ATTEMPTS {
            if !self.group.exists() {
                break;
            }
            self.group.freeze(false).ok();
            self.group.kill();
            if self.group.remove() {
                break;
            }
            poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: AGAIN })).ok();
        }
        block_on(network::disconnect(&self.record.network(), self.record.address)).ok();
    }
}

/// Returns whether the folder is gone, and somebody has made another one there: then the control group and the link are those of another container.
fn is_replaced() -> bool {
    // As proc_pid_cwd(5) shows a folder that was removed.
    let link = std::fs::read_link("/proc/self/cwd").unwrap_or_default();
    let path = link.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    path.is_some_and(|path| Path::new(OsStr::from_bytes(path)).exists())
}

/// Waits for a future without another thread, which a process with two namespaces of processes cannot have.
pub(super) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.context("cannot wait for the kernel")?.block_on(future)
}

/// The conversation with the first process, in lines.
struct Line(BufReader<UnixStream>);

impl Line {
    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.0.get_mut(), "{text}").context("the first process has ended")
    }

    /// Waits for this line, or for the end of the conversation if it is empty. Anything else is an error of the first process.
    fn expect(&mut self, expected: &str) -> Result<()> {
        let mut text = String::new();
        let read = self.0.read_line(&mut text);
        read.with_context(|| {
            format!("the first process does not answer within {} s", seconds(limits::START))
        })?;
        match text.trim_end() {
            text if text == expected => Ok(()),
            "" => bail!("the first process was killed"),
            text => bail!("{text}"),
        }
    }
}

fn seconds(duration: Duration) -> u64 {
    duration.as_secs()
}
