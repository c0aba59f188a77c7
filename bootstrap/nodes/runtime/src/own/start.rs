//! The start of a container.

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::lock::{self, Lock};
use super::{Folder, Own, Record, create};
use crate::process::boot;
use crate::{limits, network, supervisor};
use system_containers::{Container, Init, State};

/// How long the supervisor may need besides what its parts may need.
const GRACE: Duration = Duration::from_secs(10);
/// The pause between two attempts to get the lock of the supervisor.
const AGAIN: Duration = Duration::from_millis(10);
/// The most bytes of what a supervisor says.
const WORDS: u64 = 64 << 10;

impl Own {
    pub(super) async fn start_container(&self, name: &str) -> Result<Container> {
        let _lock = self.lock(name).await?;
        let record = self.record(name)?;
        let folder = self.folder(name);
        let container = self.find(name).context("it was removed")?;
        match container.state {
            State::Running | State::Paused if container.pid.is_some() => return Ok(container),
            State::Creating => bail!("it was not created completely: create it again"),
            State::Removing => bail!("its removal has begun: remove it, and create it again"),
            _ => {}
        }
        let has_files = record.spec.init != Init::Balancer;
        let is_whole =
            !has_files || record.prepared.as_ref() == Some(&boot()?) || create::is_durable(folder.path());
        ensure!(
            is_whole,
            "the machine was started anew before its files were on the disk, so they may be damaged: remove it, and create it again"
        );
        self.make_network(&record).await?;
        self.step("network");
        // An earlier supervisor is about to end, or starts the container, although the server that wanted it has ended.
        let deadline = self.clock.monotonic() + limits::START + GRACE;
        let locked = loop {
            if let Some(locked) = lock::attempt(&folder.lock())? {
                break locked;
            }
            // One that runs cannot be found if what it says cannot be read.
            folder.read_supervised()?;
            match self.find(name) {
                Some(container) if container.pid.is_some() => return Ok(container),
                _ => ensure!(
                    self.clock.monotonic() < deadline,
                    "its supervisor does not end: kill the container"
                ),
            }
            self.clock.sleep(AGAIN).await;
        };
        let supervisor = self.supervise(&folder, locked).await?;
        let state = folder.read_supervised()?.filter(|state| state.supervisor.pid == supervisor);
        let was_killed = state.is_none_or(|state| state.started.is_none() && state.error.is_none());
        ensure!(!was_killed, "its supervisor was killed: start it again");
        let container = self.find(name).context("it was removed")?;
        match &container.state {
            State::Stopped { error: Some(error), .. } => bail!("{error}"),
            _ => Ok(container),
        }
    }

    async fn make_network(&self, record: &Record) -> Result<()> {
        let _lock = self.lock_all().await?;
        network::make(&record.network()).await
    }

    /// Starts the supervisor, and waits until it says that the init runs. Returns its number.
    async fn supervise(&self, folder: &Folder, locked: Lock) -> Result<u32> {
        let (read, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("cannot make a pipe")?;
        let mut command = supervisor::command(supervisor::SUPERVISOR)?;
        command.arg(folder.path()).stdin(OwnedFd::from(locked.into_file()));
        command.stdout(write).stderr(Stdio::null());
        let child = command.spawn().context("cannot start its supervisor")?;
        // It has copies of the lock and of the pipe, which would stay open here.
        drop(command);
        let pid = child.id();
        self.children.lock().push(child);
        self.step("supervised");
        let read = Receiver::from_owned_fd(read).context("cannot read from its supervisor")?;
        let mut words = String::new();
        let said = async { read.take(WORDS).read_to_string(&mut words).await };
        let said = tokio::time::timeout(limits::START + GRACE, said).await;
        said.context("its supervisor does not answer: remove the container")?
            .context("cannot read from its supervisor")?;
        ensure!(words.is_empty(), "{}", words.trim_end());
        Ok(pid)
    }
}
