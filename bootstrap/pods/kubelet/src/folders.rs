//! The folders of the Pods of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pod_folders::Folder;

use crate::root_copy;

/// The file that says in which start of the machine the root folders of containers were made. It lies beside the folders of the Pods: whatever
/// is among them that belongs to no Pod is removed.
const BOOT: &str = "boot";

/// The folder with a folder for each Pod, which is named after the Pod's UID. Nothing else is in it.
#[derive(Clone, Debug)]
pub struct Folders(PathBuf);

impl Folders {
    /// Prepares the folders of a machine, which are in `machine`, and removes what may be damaged since the machine's last start, which has
    /// the identifier `boot`.
    ///
    /// # Errors
    /// The folder cannot be used, or the disk is full.
    pub fn open(machine: &Path, boot: &str) -> Result<Self> {
        let pods = machine.join("pods");
        fs::create_dir_all(&pods).with_context(|| format!("cannot make {}", pods.display()))?;
        root_copy::remove_older(&pods, &machine.join(BOOT), boot)?;
        Ok(Self(pods))
    }

    /// Returns the folder of the Pod with this UID.
    pub fn of(&self, uid: &str) -> PathBuf {
        self.0.join(uid)
    }

    /// Returns the folder with the logs of a container of the Pod with this UID.
    pub(crate) fn logs(&self, uid: &str, container: &str) -> PathBuf {
        self.of(uid).join("logs").join(container)
    }

    /// Returns the UIDs of the Pods that have a folder.
    pub fn uids(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Removes everything that a Pod had on this machine. Its containers may have made any number of files there.
    pub fn discard(&self, uid: &str) {
        let removed = Folder::open(&self.0).and_then(|pods| pod_folders::remove(pods.as_fd(), uid));
        if let Err(error) = removed {
            tracing::warn!("the folder of the deleted Pod {uid} cannot be removed: {error:#}");
        }
    }
}
