//! The helper: a process that works in the networks of Pods, because a process with several threads cannot enter a user namespace. It is this
//! same program, started again ([`mod@process`]), with root's rights in a user namespace of its own where this program has none. It makes
//! networks and sockets in them, and hands both over as open files; it keeps nothing. It ends with the server: the kernel kills it with
//! the thread that has started it.

mod make;
mod message;
pub mod process;

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use tokio::sync::{mpsc, oneshot};

use crate::limits;
use message::Reply;

pub(crate) use make::PORT;
pub(crate) use message::Request;

/// The stack of the helper's thread in bytes.
const STACK: usize = 128 << 10;
/// Requests that wait.
const WAITING: usize = 64;

/// A program that acts as helper when it is started with these arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The first argument, by convention the program's name.
    pub name: String,
    /// Further arguments.
    pub arguments: Vec<String>,
}

impl Default for Program {
    fn default() -> Self {
        Self { name: process::NAME.to_owned(), arguments: Vec::new() }
    }
}

/// The server's side of a helper. The helper ends when this is dropped.
#[derive(Clone)]
pub(crate) struct Helper(mpsc::Sender<Job>);

struct Job {
    request: Request,
    within: Option<Arc<OwnedFd>>,
    answer: oneshot::Sender<Result<Vec<OwnedFd>>>,
}

impl Helper {
    /// Starts a helper.
    pub(crate) async fn start(program: Program) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let (started, start) = oneshot::channel();
        thread::Builder::new()
            .name("pod-network".to_owned())
            .stack_size(STACK)
            .spawn(move || match spawn(&program) {
                Ok((child, socket)) => {
                    started.send(Ok(())).ok();
                    serve(child, &socket, receiver);
                }
                Err(error) => drop(started.send(Err(error))),
            })
            .context("cannot start a thread")?;
        start.await.map_err(|_| anyhow!("the thread of the networks' helper ended"))??;
        Ok(Self(sender))
    }

    /// Asks the helper for open files. `within` is the network in which it works.
    ///
    /// # Errors
    /// It cannot do it, or has ended.
    pub(crate) async fn ask(&self, request: Request, within: Option<Arc<OwnedFd>>) -> Result<Vec<OwnedFd>> {
        let (answer, answered) = oneshot::channel();
        let ended = || anyhow!("the helper of the Pods' networks has ended");
        self.0.send(Job { request, within, answer }).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Returns whether it has ended, so that another one is needed.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.is_closed()
    }
}

fn spawn(program: &Program) -> Result<(Child, OwnedFd)> {
    ensure!(process::is_offered(), "this program makes no networks");
    let (own, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .context("cannot make a socket")?;
    sockopt::set_socket_timeout(&own, sockopt::Timeout::Recv, Some(limits::HELPER))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0(&program.name).args(&program.arguments).process_group(0);
    command.env_clear().envs([pod_processes::shim::ONE_THREAD]);
    command.stdin(Stdio::from(other)).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().context("cannot start the helper of the Pods' networks")?;
    Ok((child, own))
}

/// Passes requests on until nobody can ask any more, or the helper does not answer.
fn serve(mut child: Child, socket: &OwnedFd, mut jobs: mpsc::Receiver<Job>) {
    while let Some(job) = jobs.blocking_recv() {
        let answer = ask(socket, &job);
        let is_broken = answer.is_err();
        job.answer.send(answer.and_then(|answer| answer)).ok();
        if is_broken {
            break;
        }
    }
    jobs.close();
    child.kill().ok();
    child.wait().ok();
}

/// The outer error means that the helper is of no more use.
fn ask(socket: &OwnedFd, job: &Job) -> Result<Result<Vec<OwnedFd>>> {
    message::send(socket, &job.request, job.within.as_deref())?;
    let received = message::receive::<Reply>(socket).context("the helper does not answer")?;
    match received {
        Some((Reply::Done, files)) => Ok(Ok(files)),
        Some((Reply::Failed(error), _)) => Ok(Err(anyhow!(error))),
        None => bail!("the helper of the Pods' networks has ended"),
    }
}
