//! Pause, resume, stop and kill.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix_libc_wrappers::process::SignalExt;

use super::data::Data;
use super::{Supervised, observe};
use crate::groups::{Group, Groups};
use crate::limits;
use system_containers::State;

/// The pause between two looks at a group that is freezing.
const AGAIN: Duration = Duration::from_millis(5);

pub(super) fn group(data: &Data, name: &str) -> Result<Group> {
    Ok(Groups::find(data.identity())?.group(name))
}

pub(super) async fn freeze(data: &Data, name: &str, is_frozen: bool) -> Result<()> {
    let _lock = data.lock(name).await?;
    data.record(name)?;
    let container = observe::find(data, name).context("it was removed")?;
    let is_possible = matches!(container.state, State::Running | State::Paused) && container.pid.is_some();
    ensure!(is_possible, "it does not run (it is {}): start it first", container.state.word());
    let group = group(data, name)?;
    group.freeze(is_frozen)?;
    let deadline = data.clock().monotonic() + limits::END;
    // A process in the kernel freezes when it comes back from there.
    while is_frozen && !group.has_frozen() {
        if data.clock().monotonic() >= deadline {
            group.freeze(false)?;
            bail!("its processes do not freeze within {} s", limits::END.as_secs());
        }
        data.clock().sleep(AGAIN).await;
    }
    Ok(())
}

pub(super) async fn stop(data: &Data, name: &str, grace: Duration) -> Result<()> {
    let _lock = data.lock(name).await?;
    let record = data.record(name)?;
    let Some(state) = data.folder(name).read_supervised()? else { return Ok(()) };
    let number = record.spec.stop_signal;
    let signal = Signal::from_raw(number).with_context(|| format!("stopSignal: {number} is no signal"))?;
    if let Some(init) = &state.init {
        group(data, name)?.freeze(false).ok();
        init.signal(signal)?;
    }
    if ends(&state, grace).await? { Ok(()) } else { kill_all_of(data, name).await }
}

pub(super) async fn kill(data: &Data, name: &str) -> Result<()> {
    let _lock = data.lock(name).await?;
    data.record(name)?;
    kill_all_of(data, name).await
}

/// Kills the processes of a container, and waits until its supervisor has ended, too.
pub(super) async fn kill_all_of(data: &Data, name: &str) -> Result<()> {
    let Some(state) = data.folder(name).read_supervised()? else { return Ok(()) };
    // A frozen process of version 1 does not end.
    group(data, name)?.freeze(false).ok();
    match &state.init {
        // All others of its namespace end with it.
        Some(init) => init.signal(Signal::KILL)?,
        // Its child ends with it.
        None => state.supervisor.signal(Signal::KILL)?,
    }
    if !ends(&state, limits::END).await? {
        let pid = state.supervisor.pid;
        bail!(
            "its processes do not end within {} s (supervisor {pid}): see its console, or the log of the kernel",
            limits::END.as_secs()
        );
    }
    Ok(())
}

/// Waits for the end of a supervisor, and returns whether it has ended.
async fn ends(state: &Supervised, time: Duration) -> Result<bool> {
    let Some(supervisor) = state.supervisor.open() else { return Ok(true) };
    let time = Timespec { tv_sec: i64::try_from(time.as_secs())?, tv_nsec: time.subsec_nanos().into() };
    let waited = tokio::task::spawn_blocking(move || {
        poll(&mut [PollFd::new(&supervisor, PollFlags::IN)], Some(&time)).map(|ready| ready > 0)
    });
    waited.await.context("the wait was interrupted")?.context("cannot wait for its supervisor")
}
