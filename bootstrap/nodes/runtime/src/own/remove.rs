//! The removal of a container, whole or half: its processes, its control groups, its link, its files, and at last its record.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;

use super::record::REMOVING;
use super::{Folder, NETWORK, Own, lock};
use crate::groups::Groups;
use crate::network::{self, Network};
use crate::{limits, own};

/// The pause between two attempts at what processes that are ending still use.
const AGAIN: Duration = Duration::from_millis(10);

impl Own {
    pub(super) async fn remove_container(&self, name: &str) -> Result<()> {
        let lock = self.lock(name).await?;
        self.remove_all_of(name).await?;
        lock.remove();
        Ok(())
    }

    /// Removes what there is of a container. The caller has its lock.
    pub(super) async fn remove_all_of(&self, name: &str) -> Result<()> {
        let folder = self.folder(name);
        if folder.path().exists() {
            self.remove_one(name, &folder).await?;
        }
        self.step("removed");
        self.remove_shared().await
    }

    /// Removes folders without a record, and what containers share if there are none.
    pub(super) async fn sweep(&self) -> Result<()> {
        for name in self.names()? {
            let folder = self.folder(&name);
            // Who makes it now has the lock.
            let lock = lock::attempt(&self.data.join(lock::FOLDER).join(&name))?;
            if lock.is_some() && folder.path().exists() && matches!(folder.read(), Ok(None)) {
                self.remove_one(&name, &folder).await?;
            }
        }
        self.remove_shared().await
    }

    /// Removes a container that has a folder, whatever is in that: somebody may have damaged or removed files of a container that runs.
    async fn remove_one(&self, name: &str, folder: &Folder) -> Result<()> {
        let record = folder.read().ok().flatten();
        folder.begin_removal()?;
        self.step("removing");
        self.end(name, folder).await?;
        self.step("killed");
        self.release(name, record.as_ref()).await?;
        self.step("released");
        let path = folder.path().to_owned();
        let removed = tokio::task::spawn_blocking(move || remove_files(&path)).await;
        removed.context("the removal of its files was interrupted")?
    }

    /// Kills everything until nobody has the lock of the supervisor, and nobody can get it.
    async fn end(&self, name: &str, folder: &Folder) -> Result<()> {
        if folder.read_supervised().is_ok() {
            self.kill_all_of(name).await?;
        }
        let deadline = self.clock.monotonic() + limits::END;
        // A supervisor that a killed server has just started has not written its state yet.
        while lock::attempt(&folder.lock())?.is_none() {
            if let Ok(Some(state)) = folder.read_supervised() {
                let process = state.init.as_ref().unwrap_or(&state.supervisor);
                process.signal(Signal::KILL)?;
            } else {
                // The init is known by its control group, too, and its supervisor ends after it.
                let group = self.group(name)?;
                group.freeze(false).ok();
                group.kill();
            }
            ensure!(
                self.clock.monotonic() < deadline,
                "a process has {} locked: end it",
                folder.lock().display()
            );
            self.clock.sleep(AGAIN).await;
        }
        Ok(())
    }

    /// Gives back what the container had of the machine. Without its record, its link goes with its network.
    async fn release(&self, name: &str, record: Option<&own::Record>) -> Result<()> {
        let identity = record.map_or(&self.identity, |record| &record.identity);
        let group = Groups::find(identity)?.group(name);
        let deadline = self.clock.monotonic() + limits::END;
        while group.exists() {
            group.freeze(false).ok();
            group.kill();
            if !group.remove() && self.clock.monotonic() >= deadline {
                bail!(
                    "its control groups cannot be removed: see which processes are in {}",
                    group.left().join(", ")
                );
            }
            self.clock.sleep(AGAIN).await;
        }
        match record {
            Some(record) => network::disconnect(&record.network(), record.address).await,
            None => Ok(()),
        }
    }

    /// Removes what all containers share, after the last one.
    async fn remove_shared(&self) -> Result<()> {
        let _lock = self.lock_all().await?;
        let path = self.data.join(NETWORK);
        if !self.names()?.is_empty() {
            return Ok(());
        }
        if let Some(range) = self.chosen_range()? {
            network::remove(&Network { identity: self.identity.clone(), range }).await?;
            self.step("disconnected");
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        let groups = Groups::find(&self.identity)?;
        let deadline = self.clock.monotonic() + limits::END;
        // The last supervisor is about to leave.
        while groups.exist() && self.clock.monotonic() < deadline {
            groups.remove_empty();
            self.clock.sleep(AGAIN).await;
        }
        Ok(())
    }
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
