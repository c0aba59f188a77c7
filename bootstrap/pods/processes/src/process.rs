//! A running process of a container, and the thread that waits for it.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;

use crate::instruction::{Instruction, Isolation};
use crate::shim;

/// The stack of a waiting thread in bytes; it does nothing else.
const STACK: usize = 128 << 10;

/// A container's process. Dropping it kills the process.
pub struct Process {
    /// Its number on this machine.
    pub pid: u32,
    output: Option<Output>,
    ended: oneshot::Receiver<Ended>,
    end: Option<Ended>,
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
}

impl Ended {
    /// Returns the exit code as shells and kubelets count it: 128 plus the number of a signal.
    pub fn code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
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

impl Process {
    /// Starts the program of an instruction.
    ///
    /// # Errors
    /// The shim cannot be started. What fails later is in the output and the exit code ([`shim::CANNOT_START`]).
    pub async fn spawn(instruction: Instruction) -> Result<Self> {
        let (started, start) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("container".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let mut child = match spawn(&instruction) {
                    Ok(child) => child,
                    Err(error) => return drop(started.send(Err(error))),
                };
                let told = tell(&mut child, &instruction);
                drop(instruction);
                let output = (child.stdout.take(), child.stderr.take());
                let is_wanted = started.send(told.map(|()| (child.id(), output))).is_ok();
                if !is_wanted {
                    drop(child.kill());
                }
                // This thread must live as long as the process, which the kernel kills with it.
                let status = child.wait().map_or(Ended::Exited(shim::CANNOT_START), Ended::from);
                // Nobody waits for a process that was dropped.
                end.send(status).ok();
            })
            .context("cannot start a thread")?;
        let (pid, (stdout, stderr)) =
            start.await.map_err(|_| anyhow!("the thread of a container ended"))??;
        let receiver = |pipe: Option<std::os::fd::OwnedFd>| -> Result<Receiver> {
            Receiver::from_owned_fd(pipe.context("no output")?).context("cannot read the output")
        };
        let output =
            Output { stdout: receiver(stdout.map(Into::into))?, stderr: receiver(stderr.map(Into::into))? };
        Ok(Self { pid, output: Some(output), ended, end: None })
    }

    /// Returns what the process writes, once.
    pub fn take_output(&mut self) -> Option<Output> {
        self.output.take()
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
        if self.has_ended() {
            return;
        }
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // The process may end at any moment, so a failure says nothing.
        pid.map(|pid| kill_process(pid, signal).ok());
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
        self.signal(Signal::KILL);
    }
}

fn spawn(instruction: &Instruction) -> Result<Child> {
    ensure!(shim::is_offered(), "this program does not run containers");
    if instruction.isolation == Isolation::Root {
        // Only children of this thread are in the new namespace, the first of them as process 1.
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWPID)
            .context("cannot make a namespace of processes")?;
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0(shim::NAME).env_clear().envs([shim::ONE_THREAD]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("cannot start the shim of a container")
}

/// Gives the shim its instruction. A shim that ends early does not read all of it, and says why in its output.
fn tell(child: &mut Child, instruction: &Instruction) -> Result<()> {
    let text = serde_json::to_vec(instruction)?;
    let mut input = child.stdin.take().context("the shim has no input")?;
    match input.write_all(&text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the shim of a container")
        }
        _ => Ok(()),
    }
}
