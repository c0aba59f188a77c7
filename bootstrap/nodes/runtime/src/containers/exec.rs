//! A program that is run in a container: the server's side.

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use rustix::io::Errno;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;

use super::data::Data;
use super::observe;
use crate::limits;
use crate::process::ProcessId;
use crate::supervisor::{self, Instruction};
use system_containers::{Exec, Exit};

/// The stack of a waiting thread in bytes; it does nothing else.
const STACK: usize = 128 << 10;
/// The most bytes that are copied at once.
const PIECE: usize = 32 << 10;

/// A program that runs. Dropping it ends its process group.
struct Program {
    parent: ProcessId,
    ended: Shared<BoxFuture<'static, i32>>,
    stdin: Option<Sender>,
    stdout: Receiver,
    stderr: Receiver,
}

pub(super) async fn exec(data: &Data, name: &str, exec: Exec<'_>) -> Result<Exit> {
    let record = data.record(name)?;
    let pid = observe::find(data, name).context("it was removed")?.running()?;
    let state = data.folder(name).read_supervised()?.context("it has no supervisor")?;
    let init = state.init.filter(|init| init.pid == pid).context("it has ended")?;
    let mut environment = record.spec.environment;
    environment.extend(exec.environment);
    if exec.command.is_empty() {
        bail!("there is no command to run");
    }
    let instruction = Instruction {
        init,
        identity: record.identity,
        name: name.to_owned(),
        command: exec.command,
        environment,
    };
    let mut program = Program::start(instruction.encode()?).await?;
    let copied = program.copy(exec.stdin, exec.stdout, exec.stderr);
    match tokio::time::timeout(exec.time_limit, copied).await {
        Ok(code) => Ok(Exit::Code(code?)),
        Err(_) => {
            program.end();
            // In a container that is paused meanwhile, it ends when that is resumed.
            tokio::time::timeout(limits::EXEC_END, program.ended.clone()).await.ok();
            Ok(Exit::TimedOut)
        }
    }
}

impl Program {
    /// Starts the parent of the program, and tells both what to do.
    async fn start(instruction: Vec<u8>) -> Result<Self> {
        let (started, start) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("exec".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let mut child = match spawn() {
                    Ok(child) => child,
                    Err(error) => return drop(started.send(Err(error))),
                };
                let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                if started.send(Ok((child.id(), streams))).is_err() {
                    drop(child.kill());
                }
                // This thread must live as long as the process, to which its end would be that of the server.
                let code = child.wait().ok().and_then(|status| status.code());
                end.send(code.unwrap_or(128 + 9)).ok();
            })
            .context("cannot start a thread")?;
        let (pid, (stdin, stdout, stderr)) = start.await.map_err(|_| anyhow!("a thread has ended"))??;
        let parent = ProcessId::of(pid)?;
        let receiver = |pipe: Option<OwnedFd>| -> Result<Receiver> {
            Receiver::from_owned_fd(pipe.context("there is no output")?).context("cannot read the output")
        };
        let stdin = Sender::from_owned_fd(stdin.context("there is no input")?.into())
            .context("cannot write the input")?;
        let (stdout, stderr) = (receiver(stdout.map(Into::into))?, receiver(stderr.map(Into::into))?);
        // Without an exit code, its parent was killed, and it ended with that.
        let ended = ended.map(|code| code.unwrap_or(128 + 9)).boxed().shared();
        let mut program = Self { parent, ended, stdin: Some(stdin), stdout, stderr };
        let told = program.stdin.as_mut().map(|stdin| stdin.write_all(&instruction));
        told.context("there is no input")?.await.context("cannot tell the program what to do")?;
        Ok(program)
    }

    /// Copies all streams until the program has ended, and returns its exit code.
    async fn copy(
        &mut self,
        mut input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
        mut errors: impl AsyncWrite + Unpin,
    ) -> Result<i32> {
        let Self { ended, stdin, stdout, stderr, .. } = self;
        let mut stdin = stdin.take().context("there is no input")?;
        let feed = async move {
            // A program need not read everything.
            tokio::io::copy(&mut input, &mut stdin).await.ok();
            drop(stdin);
            std::future::pending::<Infallible>().await
        };
        let forwarded = async {
            let (output, errors) = tokio::join!(
                forward(stdout, &mut output, ended.clone()),
                forward(stderr, &mut errors, ended.clone())
            );
            output.and(errors)?;
            Ok(ended.clone().await)
        };
        tokio::select! {
            biased;
            code = forwarded => code,
            never = feed => match never {},
        }
    }

    fn end(&self) {
        // One that has ended gets no signal.
        self.parent.signal(Signal::TERM).ok();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

/// Copies a stream until its end, or until the program has ended and everything that it has written is copied: a process that it has left
/// may have the stream open for ever.
async fn forward(
    from: &mut Receiver,
    to: &mut (impl AsyncWrite + Unpin),
    ended: impl Future<Output = i32>,
) -> Result<()> {
    let mut piece = vec![0; PIECE];
    tokio::pin!(ended);
    let mut has_ended = false;
    loop {
        let length = if has_ended {
            // Not by tokio, which may not know yet that there is something.
            match rustix::io::read(&*from, &mut piece) {
                Err(Errno::AGAIN) => 0,
                length => length.context("cannot read the output")?,
            }
        } else {
            tokio::select! {
                biased;
                length = from.read(&mut piece) => length.context("cannot read the output")?,
                _ = &mut ended => {
                    has_ended = true;
                    continue;
                }
            }
        };
        if length == 0 {
            return Ok(to.flush().await?);
        }
        to.write_all(&piece[..length]).await.context("nobody takes the output")?;
    }
}

fn spawn() -> Result<Child> {
    let mut command = supervisor::command(supervisor::EXEC)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("cannot start a process")
}
