//! The process that acts as helper.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use nix::sched::{CloneFlags, setns, unshare};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::runtime::{Builder, Runtime};

use super::make::{self, Made};
use super::message::{self, Reply, Request};

/// The name under which this program is a helper.
pub const NAME: &str = "firstlight-network";

/// Whether this program becomes a helper when it is started as one.
static IS_OFFERED: AtomicBool = AtomicBool::new(false);

/// Returns whether this program can be started as a helper.
pub(crate) fn is_offered() -> bool {
    IS_OFFERED.load(Ordering::Relaxed)
}

/// Says that this program can be started as a helper, although [`run_if_started_as_one`] is not called: it calls [`run`] then.
pub fn offer() {
    IS_OFFERED.store(true, Ordering::Relaxed);
}

/// Acts as helper if this process was started as one, and does not return then. A program with networks of Pods calls it first of all.
pub fn run_if_started_as_one() {
    offer();
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        std::process::exit(i32::from(run().is_err()));
    }
}

/// Acts as helper until the server ends. Requests come over the standard input.
///
/// # Errors
/// This machine does not allow it to make networks.
pub fn run() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let input = std::io::stdin().as_fd().try_clone_to_owned().context("there is no standard input")?;
    // What does not work at first is the answer to the first request, so that the server can say why.
    let helper = Process::new();
    while let Some((request, files)) = message::receive(&input)? {
        let answer = match &helper {
            Ok(helper) => helper.answer(request, files.first()),
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        };
        match answer {
            Ok(answer) => message::send_with(&input, &Reply::Done, &answer.files())?,
            Err(error) => message::send(&input, &Reply::Failed(format!("{error:#}")), None)?,
        }
    }
    Ok(())
}

struct Process {
    runtime: Runtime,
    /// The user namespace of this process, if it has one of its own.
    user: Option<File>,
    /// A network without anything in it, to which this process returns, so that it keeps no Pod's network.
    home: File,
}

/// The files of an answer.
enum Answer {
    Network(Made, Option<RawFd>),
    Socket(OwnedFd),
}

impl Answer {
    fn files(&self) -> Vec<RawFd> {
        match self {
            Self::Network(made, user) => made.files().into_iter().chain(*user).collect(),
            Self::Socket(socket) => vec![socket.as_raw_fd()],
        }
    }
}

impl Process {
    fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let is_root = rustix::process::geteuid().is_root();
        let user = if is_root {
            None
        } else {
            pod_processes::user_namespace(0, 0)?;
            // A change of rights may reset it.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Some(File::open("/proc/thread-self/ns/user")?)
        };
        unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace")?;
        Ok(Self { runtime, user, home: own_network()? })
    }

    fn answer(&self, request: Request, within: Option<&OwnedFd>) -> Result<Answer> {
        let answer = match (request, within) {
            (Request::Network(address), _) => {
                let made = unshare(CloneFlags::CLONE_NEWNET)
                    .context("cannot make a network namespace")
                    .and_then(|()| self.runtime.block_on(make::make(own_network()?, address)));
                made.map(|made| Answer::Network(made, self.user.as_ref().map(AsRawFd::as_raw_fd)))
            }
            (Request::Socket, Some(network)) => setns(network, CloneFlags::CLONE_NEWNET)
                .context("cannot enter the network")
                .and_then(|()| Ok(Answer::Socket(socket()?))),
            (Request::Socket, None) => bail!("in which network?"),
        };
        setns(&self.home, CloneFlags::CLONE_NEWNET).context("cannot leave the network")?;
        answer
    }
}

fn own_network() -> Result<File> {
    File::open("/proc/thread-self/ns/net").context("cannot open the network namespace")
}

fn socket() -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).context("cannot make a socket")
}
