//! What the workers of all Pods share.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use anyhow::Result;
use container_images::{Registries, Sources, Store};
use engine::events::Recorder;
use engine::network::Network;
use kube::Client;
use machinery::clock::Clock;
use metrics::Limits;
use parking_lot::Mutex;
use pod_folders::Folder;
use pod_network::Networks;
use pod_processes::Isolation;

use super::groups::Groups;
use super::ports::Ports;
use crate::logs::Log;
use crate::proxies::ProxyVariables;

/// The machine, as workers see it.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) images: Store,
    pub(crate) sources: Sources,
    pub(crate) registries: Arc<Registries>,
    pub(crate) isolation: Isolation,
    pub(crate) folder: PathBuf,
    pub(crate) api: (String, u16),
    pub(crate) authority: String,
    pub(crate) node: String,
    pub(crate) proxies: ProxyVariables,
    pub(crate) networks: Networks,
    /// The network of this machine, in which Pods are found, too.
    pub(crate) network: Arc<dyn Network>,
    pub(crate) reached: Limits,
    pub(crate) ports: Ports,
    pub(crate) groups: Groups,
    pub(crate) logs: Logs,
    pub(crate) recorder: Recorder,
}

/// The logs of the containers that run, by their paths.
pub(crate) type Logs = Arc<Mutex<BTreeMap<PathBuf, Weak<Log>>>>;

impl Shared {
    pub(super) fn folder(&self, uid: &str) -> PathBuf {
        self.folder.join(uid)
    }

    /// Returns the UIDs of the Pods that have a folder.
    pub(crate) fn folders(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Creates the log of a start of a container, and removes those of the starts before the last one.
    pub(super) fn log(&self, uid: &str, container: &str, start: i32) -> Result<Arc<Log>> {
        let folder = logs(&self.folder, uid, container);
        let path = folder.join(format!("{start}.log"));
        for ending in ["log", "old"] {
            fs::remove_file(folder.join(format!("{}.{ending}", start - 2))).ok();
        }
        let log = Log::create(&path, &self.clock)?;
        let mut logs = self.logs.lock();
        logs.retain(|_, log| log.strong_count() > 0);
        logs.insert(path, Arc::downgrade(&log));
        Ok(log)
    }

    /// Removes everything that a Pod had on this machine. Its containers may have made any number of files there.
    pub(crate) fn discard(&self, uid: &str) {
        let removed = Folder::open(&self.folder).and_then(|pods| pod_folders::remove(pods.as_fd(), uid));
        if let Err(error) = removed {
            tracing::warn!("the folder of the deleted Pod {uid} cannot be removed: {error:#}");
        }
    }
}

/// Returns the folder with the logs of a container of the Pod with this UID.
pub(crate) fn logs(folder: &Path, uid: &str, container: &str) -> PathBuf {
    folder.join(uid).join("logs").join(container)
}
