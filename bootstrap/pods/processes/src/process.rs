//! A running process of a container, and the thread that waits for it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open, waitid,
};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::cgroup::Group;
use crate::exec::{Exec, Held, first};
use crate::instruction::{Instruction, Isolation};
use crate::{framed, shim};

/// The stack of a waiting thread in bytes; it does nothing else.
const STACK: usize = 128 << 10;

/// A container's process. Dropping it kills the process.
pub struct Process {
    /// Its number on this machine.
    pub pid: u32,
    output: Option<Output>,
    ended: oneshot::Receiver<Ended>,
    end: Option<Ended>,
    exec: Option<Exec>,
    place: Place,
}

/// Where a process is in its container.
#[derive(Clone, Copy)]
struct Place {
    isolation: Isolation,
    /// Whether it is the first process of the container, with which all others end.
    is_first: bool,
    /// Whether the supervised process is the guard of the container.
    is_guarded: bool,
}

impl From<&Instruction> for Place {
    fn from(instruction: &Instruction) -> Self {
        let (isolation, is_first) = (instruction.isolation, instruction.is_first);
        Self { isolation, is_first, is_guarded: instruction.is_guarded() }
    }
}

/// The output of a process. Both parts end with the process.
pub struct Output {
    /// The standard output.
    pub stdout: Receiver,
    /// The standard error.
    pub stderr: Receiver,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// The kernel killed it, or a process that it needed, because the container had no memory left. It has this exit code.
    OutOfMemory(i32),
}

impl Ended {
    /// Returns the exit code as shells and kubelets count it: 128 plus the number of a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) | Self::OutOfMemory(code) => code,
            Self::Killed(signal) => 128 + signal,
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Killed(signal.unwrap_or_default()),
        }
    }
}

/// What a process needs besides its instruction.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// The group of the container.
    pub(crate) group: Option<Arc<Group>>,
    /// The namespaces of a container that runs, for a further process in it.
    pub(crate) held: Option<Held>,
}

/// What the thread of a process says when that has started.
struct Started {
    pid: u32,
    pidfd: Option<OwnedFd>,
    input: OwnedFd,
    output: [Option<OwnedFd>; 2],
}

/// A process that has been started.
pub(crate) struct Running {
    pub(crate) pid: u32,
    /// The process, which its number means only as long as nobody has waited for it.
    pub(crate) pidfd: OwnedFd,
    /// The input of the shim, which is closed when the shim becomes the program.
    pub(crate) input: Sender,
}

impl Process {
    /// Starts the program of an instruction, in this group if there is one.
    ///
    /// # Errors
    /// The shim cannot be started. What fails later is in the output and the exit code ([`shim::CANNOT_START`]).
    pub async fn spawn(instruction: Instruction, group: Option<Group>) -> Result<Self> {
        let instruction = Arc::new(instruction);
        let group = group.map(Arc::new);
        let weak = group.as_ref().map(Arc::downgrade);
        let surroundings = Surroundings { group, held: None };
        let (mut process, running) = Self::start(instruction.clone(), surroundings).await?;
        process.exec = running.map(|running| Exec::new(instruction, running, weak));
        Ok(process)
    }

    pub(crate) async fn start(
        instruction: Arc<Instruction>,
        surroundings: Surroundings,
    ) -> Result<(Self, Option<Running>)> {
        let (started, start) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let place = Place::from(instruction.as_ref());
        thread::Builder::new()
            .name("container".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let mut child = match spawn(&instruction, &surroundings) {
                    Ok(child) => child,
                    Err(error) => return drop(started.send(Err(error))),
                };
                let told = tell(&mut child, &instruction);
                drop(instruction);
                let output = [child.stdout.take().map(Into::into), child.stderr.take().map(Into::into)];
                let pid = child.id();
                let pidfd = number(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                let told = told.map(|input| Started { pid, pidfd, input, output });
                if started.send(told).is_err() {
                    drop(child.kill());
                }
                // This thread must live as long as the process, which the kernel kills with it.
                let status = finish(&mut child, place, &surroundings);
                drop(surroundings);
                // Nobody waits for a process that was dropped.
                end.send(status).ok();
            })
            .context("cannot start a thread")?;
        let started = start.await.map_err(|_| anyhow!("the thread of a container ended"))??;
        let receiver = |pipe: Option<OwnedFd>| -> Result<Receiver> {
            Receiver::from_owned_fd(pipe.context("no output")?).context("cannot read the output")
        };
        let [stdout, stderr] = started.output;
        let output = Some(Output { stdout: receiver(stdout)?, stderr: receiver(stderr)? });
        let pid = started.pid;
        let input = Sender::from_owned_fd(started.input).context("cannot use the input of the shim")?;
        let running = started.pidfd.map(|pidfd| Running { pid, pidfd, input });
        Ok((Self { pid, output, ended, end: None, exec: None, place }, running))
    }

    /// Returns what the process writes, once.
    pub fn take_output(&mut self) -> Option<Output> {
        self.output.take()
    }

    /// Returns the way for further programs into its container; `None` with a kernel older than Linux 5.3.
    pub fn exec(&self) -> Option<Exec> {
        self.exec.clone()
    }

    /// Waits until the process has ended.
    pub async fn wait(&mut self) -> Ended {
        match self.end {
            Some(end) => end,
            None => {
                let end = (&mut self.ended).await.unwrap_or(Ended::Exited(shim::CANNOT_START));
                *self.end.insert(end)
            }
        }
    }

    /// Sends a signal. A process that has ended gets none.
    pub fn signal(&mut self, signal: Signal) {
        if !self.has_ended() {
            let (target, signal) = match signal {
                // The guard ends all processes of the container then.
                Signal::KILL if self.place.is_guarded => (None, Signal::TERM),
                // What ends the supervised process ends all others with it.
                Signal::KILL => (None, signal),
                _ if !self.place.is_first => (None, signal),
                _ => (first(self.pid, self.place.isolation), signal),
            };
            // The process may end at any moment, so a failure says nothing.
            number(target.unwrap_or(self.pid)).map(|pid| kill_process(pid, signal).ok());
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.end.is_none() {
            self.end = self.ended.try_recv().ok();
        }
        self.end.is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Place { isolation, is_first, is_guarded } = self.place;
        let takes_all = is_guarded || isolation == Isolation::Root && is_first;
        if !takes_all && !self.has_ended() {
            // At once, because this program may end before the thread that waits does it.
            number(self.pid).map(|pid| kill_process_group(pid, Signal::KILL).ok());
        }
        self.signal(Signal::KILL);
    }
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Waits until the process has ended, and ends all others of its container if it was the first one.
fn finish(child: &mut Child, place: Place, surroundings: &Surroundings) -> Ended {
    if let Some(pid) = number(child.id()).filter(|_| place.isolation != Isolation::Root) {
        // It is not reaped yet, so that its number still means its group of processes.
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok();
        kill_process_group(pid, Signal::KILL).ok();
    }
    let ended = child.wait().map_or(Ended::Exited(shim::CANNOT_START), Ended::from);
    let Some(group) = surroundings.group.as_ref().filter(|_| place.is_first) else { return ended };
    let is_out_of_memory = ended.code() != 0 && group.ran_out_of_memory();
    group.kill();
    if is_out_of_memory { Ended::OutOfMemory(ended.code()) } else { ended }
}

fn spawn(instruction: &Instruction, surroundings: &Surroundings) -> Result<Child> {
    ensure!(shim::is_offered(), "this program does not run containers");
    if let Some(held) = &surroundings.held {
        held.enter_processes()?;
    } else if instruction.isolation == Isolation::Root {
        // Only children of this thread are in the new namespace, the first of them as process 1.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWPID)
            .context("cannot make a namespace of processes")?;
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0(shim::NAME).env_clear().envs([shim::ONE_THREAD]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start the shim of a container")?;
    // The shim waits for its instruction, so that the program is in the group from its beginning.
    if let Some(Err(error)) = surroundings.group.as_ref().map(|group| group.add(child.id())) {
        drop(child.kill());
        drop(child.wait());
        return Err(error);
    }
    Ok(child)
}

/// Gives the shim its instruction, with its length before it. A shim that ends early does not read all of it, and says why in its output.
fn tell(child: &mut Child, instruction: &Instruction) -> Result<OwnedFd> {
    let whole = framed::encode(instruction, shim::LONGEST)?;
    // Without root, the first process of a container is a shim below the first shim.
    let readers = if instruction.has_parent() { 2 } else { 1 };
    let mut input = child.stdin.take().context("the shim has no input")?;
    match (0..readers).try_for_each(|_| input.write_all(&whole)) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the shim of a container")
        }
        _ => Ok(input.into()),
    }
}
