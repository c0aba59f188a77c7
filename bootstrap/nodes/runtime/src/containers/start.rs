//! The start of a container.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::data::Data;
use super::supervisors::{GRACE, Supervisors};
use super::{Record, create, lock, observe};
use crate::process::boot;
use crate::{limits, network};
use system_containers::{Container, Init, State};

/// The pause between two attempts to get the lock of the supervisor.
const AGAIN: Duration = Duration::from_millis(10);

pub(super) async fn start(data: &Data, supervisors: &Supervisors, name: &str) -> Result<Container> {
    let _lock = data.lock(name).await?;
    let record = data.record(name)?;
    let folder = data.folder(name);
    let container = observe::find(data, name).context("it was removed")?;
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
    make_network(data, &record).await?;
    data.step("network");
    // An earlier supervisor is about to end, or starts the container, although the server that wanted it has ended.
    let deadline = data.clock().monotonic() + limits::START + GRACE;
    let locked = loop {
        if let Some(locked) = lock::attempt(&folder.lock())? {
            break locked;
        }
        // One that runs cannot be found if what it says cannot be read.
        folder.read_supervised()?;
        match observe::find(data, name) {
            Some(container) if container.pid.is_some() => return Ok(container),
            _ => ensure!(
                data.clock().monotonic() < deadline,
                "its supervisor does not end: kill the container"
            ),
        }
        data.clock().sleep(AGAIN).await;
    };
    let supervisor = supervisors.start(data, &folder, locked).await?;
    let state = folder.read_supervised()?.filter(|state| state.supervisor.pid == supervisor);
    let was_killed = state.is_none_or(|state| state.started.is_none() && state.error.is_none());
    ensure!(!was_killed, "its supervisor was killed: start it again");
    let container = observe::find(data, name).context("it was removed")?;
    match &container.state {
        State::Stopped { error: Some(error), .. } => bail!("{error}"),
        _ => Ok(container),
    }
}

async fn make_network(data: &Data, record: &Record) -> Result<()> {
    let _lock = data.lock_all().await?;
    network::make(&record.network()).await
}
