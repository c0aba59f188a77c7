//! What the workers of all Pods share.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use anyhow::Result;
use container_images::{Registries, Sources, Store};
use engine::events::Recorder;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use machinery::clock::Clock;
use metrics::Limits;
use net::Network;
use parking_lot::Mutex;
use pod_network::Networks;
use pod_processes::Isolation;

use super::groups::Groups;
use super::ports::Ports;
use crate::folders::Folders;
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
    pub(crate) folders: Folders,
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
    pub(super) fn folder_of(&self, pod: &Pod) -> PathBuf {
        self.folders.of(pod.metadata.uid.as_deref().unwrap_or_default())
    }

    /// Creates the log of a start of a container, and removes those of the starts before the last one.
    pub(super) fn log(&self, uid: &str, container: &str, start: i32) -> Result<Arc<Log>> {
        let folder = self.folders.logs(uid, container);
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
}
