//! The caches of one cluster, management or workload: one for each kind.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use kube::Client;
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cache::{Cache, Contents};
use crate::object::Kind;
use crate::objects::Objects;
use crate::quota::Quota;
use crate::scope::Scope;
use crate::watch::{Watched, Watcher};

pub(crate) struct Caches {
    pub client: Client,
    pub clock: Clock,
    pub shutdown: CancellationToken,
    pub tasks: TaskTracker,
    /// What may be kept of a workload cluster; `None` for the management cluster.
    pub quota: Option<Arc<Quota>>,
    /// The scope of a cache that is opened without one.
    pub scope: Scope,
    /// By version, plural, type and scope: all objects of an entry have one type.
    open: Mutex<BTreeMap<String, Arc<Contents>>>,
}

impl Caches {
    pub fn new(client: Client, clock: Clock, shutdown: CancellationToken, tasks: TaskTracker) -> Self {
        Self { client, clock, shutdown, tasks, quota: None, scope: Scope::default(), open: Mutex::default() }
    }

    /// Returns the handle on a kind; the first call starts its watch.
    pub fn objects<K: Kind>(&self, dynamic: &K::DynamicType) -> Objects<K> {
        self.objects_in(dynamic, &self.scope.clone().without_unread::<K>(dynamic))
    }

    /// Returns the handle on the objects of a kind in `scope`; the first call with this scope starts its watch.
    pub fn objects_in<K: Kind>(&self, dynamic: &K::DynamicType, scope: &Scope) -> Objects<K> {
        let (version, plural) = (K::api_version(dynamic), K::plural(dynamic));
        let name = format!("{version} {plural} {} {}", std::any::type_name::<K>(), scope.key());
        let mut open = self.open.lock();
        let contents = open.get(&name).cloned().unwrap_or_else(|| {
            let contents = self.open(Watched::new::<K>(dynamic, scope), scope);
            open.insert(name, contents.clone());
            contents
        });
        Objects::new(self.client.clone(), dynamic.clone(), Cache::of(contents))
    }

    /// Starts the watch of `resource`.
    fn open(&self, resource: Watched, scope: &Scope) -> Arc<Contents> {
        let contents = Arc::<Contents>::default();
        let watcher = Watcher {
            client: self.client.clone(),
            resource,
            scope: scope.clone(),
            contents: contents.clone(),
            clock: self.clock.clone(),
            quota: self.quota.clone(),
        };
        self.spawn(watcher.run());
        contents
    }

    /// Returns whether all open caches are synced.
    pub fn are_synced(&self) -> bool {
        self.open.lock().values().all(|contents| contents.is_synced())
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
