//! The supervisors that this process has started.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::Folder;
use super::data::Data;
use super::lock::Lock;
use crate::{limits, supervisor};

/// How long a supervisor may need besides what its parts may need.
pub(super) const GRACE: Duration = Duration::from_secs(10);
/// The longest message of a supervisor in bytes; more is not read.
const WORDS: u64 = 64 << 10;

/// The supervisors that this process has to wait for when they end.
#[derive(Default)]
pub(super) struct Supervisors(Mutex<Vec<Child>>);

impl Supervisors {
    /// Waits for those that have ended, so that the kernel forgets them.
    pub(super) fn reap(&self) {
        self.0.lock().retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Starts the supervisor, and waits until it says that the init runs. Returns its number.
    pub(super) async fn start(&self, data: &Data, folder: &Folder, locked: Lock) -> Result<u32> {
        let (read, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("cannot make a pipe")?;
        let mut command = supervisor::command(supervisor::SUPERVISOR)?;
        command.arg(folder.path()).stdin(OwnedFd::from(locked.into_file()));
        command.stdout(write).stderr(Stdio::null());
        let child = command.spawn().context("cannot start its supervisor")?;
        // It has copies of the lock and of the pipe, which would stay open here.
        drop(command);
        let pid = child.id();
        self.0.lock().push(child);
        data.step("supervised");
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
