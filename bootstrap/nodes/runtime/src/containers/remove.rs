//! The removal of a container, whole or half: its processes, its control groups, its link, its files, and at last its record.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use super::data::Data;
use super::end::{group, kill_all_of};
use super::record::REMOVING;
use super::{Folder, Record, lock};
use crate::groups::Groups;
use crate::{limits, network};

/// The pause between two attempts at what processes that are ending still use.
const AGAIN: Duration = Duration::from_millis(10);

pub(super) async fn remove(data: &Data, name: &str) -> Result<()> {
    let lock = data.lock(name).await?;
    remove_all_of(data, name).await?;
    lock.remove();
    Ok(())
}

/// Removes what there is of a container. The caller has its lock.
pub(super) async fn remove_all_of(data: &Data, name: &str) -> Result<()> {
    let folder = data.folder(name);
    if folder.path().exists() {
        remove_one(data, name, &folder).await?;
    }
    data.step("removed");
    remove_shared(data).await
}

/// Removes folders without a record, and the shared network if no container is left.
pub(super) async fn sweep(data: &Data) -> Result<()> {
    for name in data.names()? {
        let folder = data.folder(&name);
        // Who makes it now has the lock.
        let lock = data.try_lock(&name)?;
        if lock.is_some() && folder.path().exists() && matches!(folder.read(), Ok(None)) {
            remove_one(data, &name, &folder).await?;
        }
    }
    remove_shared(data).await
}

/// Removes a container that has a folder, whatever is in that: somebody may have damaged or removed files of a container that runs.
async fn remove_one(data: &Data, name: &str, folder: &Folder) -> Result<()> {
    let record = folder.read().ok().flatten();
    folder.begin_removal()?;
    data.step("removing");
    end(data, name, folder).await?;
    data.step("killed");
    release(data, name, record.as_ref()).await?;
    data.step("released");
    let path = folder.path().to_owned();
    let removed = tokio::task::spawn_blocking(move || remove_files(&path)).await;
    removed.context("the removal of its files was interrupted")?
}

/// Kills everything until nobody has the lock of the supervisor, and nobody can get it.
async fn end(data: &Data, name: &str, folder: &Folder) -> Result<()> {
    if folder.read_supervised().is_ok() {
        kill_all_of(data, name).await?;
    }
    let deadline = data.clock().monotonic() + limits::END;
    // A supervisor that a killed server has just started has not written its state yet.
    while lock::attempt(&folder.lock())?.is_none() {
        if let Ok(Some(state)) = folder.read_supervised() {
            let process = state.init.as_ref().unwrap_or(&state.supervisor);
            process.signal(Signal::KILL)?;
        } else {
            // The init is known by its control group, too, and its supervisor ends after it.
            let group = group(data, name)?;
            group.freeze(false).ok();
            group.kill();
        }
        ensure!(
            data.clock().monotonic() < deadline,
            "a process has {} locked: end it",
            folder.lock().display()
        );
        data.clock().sleep(AGAIN).await;
    }
    Ok(())
}

/// Gives back what the container had of the machine. Without its record, its link goes with its network.
async fn release(data: &Data, name: &str, record: Option<&Record>) -> Result<()> {
    let identity = record.map_or(data.identity(), |record| &record.identity);
    let group = Groups::find(identity)?.group(name);
    let deadline = data.clock().monotonic() + limits::END;
    while group.exists() {
        group.freeze(false).ok();
        group.kill();
        if !group.remove() && data.clock().monotonic() >= deadline {
            bail!(
                "its control groups cannot be removed: see which processes are in {}",
                group.left().join(", ")
            );
        }
        data.clock().sleep(AGAIN).await;
    }
    match record {
        Some(record) => network::disconnect(&record.network(), record.address).await,
        None => Ok(()),
    }
}

/// Removes what all containers share, after the last one.
async fn remove_shared(data: &Data) -> Result<()> {
    let _lock = data.lock_all().await?;
    if !data.names()?.is_empty() {
        return Ok(());
    }
    if let Some(range) = data.range()? {
        network::remove(&data.network(range)).await?;
        data.step("disconnected");
        data.forget_range()?;
    }
    let groups = Groups::find(data.identity())?;
    let deadline = data.clock().monotonic() + limits::END;
    // The last supervisor is about to leave.
    while groups.exist() && data.clock().monotonic() < deadline {
        groups.remove_empty();
        data.clock().sleep(AGAIN).await;
    }
    Ok(())
}

/// Removes the folder of a container; its record is removed at last, so that a removal that was interrupted is continued.
fn remove_files(path: &Path) -> Result<()> {
    let cannot = || format!("cannot remove {}", path.display());
    let folder = pod_folders::Folder::open(path)?;
    for name in pod_folders::names(folder.as_fd())?.into_iter().filter(|name| *name != *REMOVING) {
        pod_folders::remove(folder.as_fd(), &name).with_context(cannot)?;
    }
    pod_folders::remove(folder.as_fd(), REMOVING).with_context(cannot)?;
    fs::remove_dir(path).with_context(cannot)
}
