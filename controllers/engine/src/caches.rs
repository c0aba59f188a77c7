//! The caches of one cluster, management or workload: one for each kind.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use kube::Client;
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cache::Cache;
use crate::object::{Kind, NamespacedName};
use crate::objects::Objects;
use crate::watch::Watcher;

pub(crate) struct Caches {
    pub client: Client,
    pub clock: Clock,
    pub shutdown: CancellationToken,
    pub tasks: TaskTracker,
    /// Whether the caches belong to a workload cluster.
    pub is_remote: bool,
    open: Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>,
    /// For each open cache, whether it is synced.
    synced: Mutex<Vec<watch::Receiver<bool>>>,
}

impl Caches {
    pub fn new(client: Client, clock: Clock, shutdown: CancellationToken, tasks: TaskTracker) -> Self {
        Self {
            client,
            clock,
            shutdown,
            tasks,
            is_remote: false,
            open: Mutex::default(),
            synced: Mutex::default(),
        }
    }

    /// Returns the handle on a kind; the first call starts its watch.
    pub fn objects<K: Kind>(&self, dynamic: &K::DynamicType) -> Objects<K> {
        self.cache(dynamic, None)
    }

    /// Returns a handle whose cache holds the object of this name only, for kinds of which a cluster has many
    /// large objects; the first call starts its watch.
    pub fn named<K: Kind>(&self, dynamic: &K::DynamicType, name: &NamespacedName) -> Objects<K> {
        self.cache(dynamic, Some(name))
    }

    fn cache<K: Kind>(&self, dynamic: &K::DynamicType, only: Option<&NamespacedName>) -> Objects<K> {
        let kind = (K::api_version(dynamic), K::plural(dynamic), std::any::type_name::<K>());
        let only_name = only.map(ToString::to_string).unwrap_or_default();
        let name = format!("{} {} {} {only_name}", kind.0, kind.1, kind.2);
        let mut open = self.open.lock();
        let existing = open.get(&name).and_then(|cache| cache.clone().downcast::<Cache<K>>().ok());
        let cache = existing.unwrap_or_else(|| {
            let cache = Arc::new(Cache::<K>::default());
            open.insert(name, cache.clone());
            self.synced.lock().push(cache.synced());
            let watcher = Watcher {
                client: self.client.clone(),
                dynamic: dynamic.clone(),
                only: only.cloned(),
                cache: cache.clone(),
                clock: self.clock.clone(),
                is_remote: self.is_remote,
            };
            self.spawn(watcher.run());
            cache
        });
        Objects::new(self.client.clone(), dynamic.clone(), cache)
    }

    /// Returns whether all open caches are synced.
    pub fn are_synced(&self) -> bool {
        self.synced.lock().iter().all(|synced| *synced.borrow())
    }

    /// Spawns a task that is cancelled at shutdown.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                () = task => {}
            }
        })
    }
}
