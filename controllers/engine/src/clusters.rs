//! Connections to workload clusters: a client and caches for each. A connection is made when the cluster's
//! API server is reachable and dropped when it stops answering.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::cache::Change;
use crate::caches::Caches;
use crate::connection_cause;
pub use crate::connection_state::Health;
use crate::connection_state::State;
use crate::error::{Error, Result};
use crate::initialization;
use crate::manager::Manager;
use crate::object::{self, Kind, NamespacedName, Request};
use crate::objects::Objects;
use crate::paused;
use crate::queue::{Cause, Queue};
use crate::scope::Scope;
use crate::workload_clients::WorkloadClients;

/// Interval between two probes of a connected cluster.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// After this many failed probes in a row the connection is dropped.
const PROBE_FAILURES: u32 = 5;
/// The first list of each cache must arrive within this time.
const SYNC_TIMEOUT: Duration = Duration::from_secs(30);
const BACK_OFF_BASE: Duration = Duration::from_millis(100);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// A connected workload cluster.
pub struct Workload {
    cluster: NamespacedName,
    caches: Caches,
    dedicated: Client,
    /// Host and port of the API server.
    address: String,
}

impl Workload {
    /// Returns the Cluster that the connection belongs to.
    pub fn cluster(&self) -> &NamespacedName {
        &self.cluster
    }

    /// Returns the client, for kinds that are not cached.
    pub fn client(&self) -> &Client {
        &self.caches.client
    }

    /// Returns a client with a connection for each request, for port-forwards and for watches of which there may be many.
    pub fn dedicated_client(&self) -> &Client {
        &self.dedicated
    }

    /// Returns the handle on a kind in this cluster; the first call starts its cache. Kinds given to
    /// [`ClusterCache::watch`] are cached and synced before the cluster counts as connected.
    pub fn objects<K: Kind<DynamicType = ()>>(&self) -> Objects<K> {
        self.caches.objects(&())
    }

    /// Returns the handle on a kind, known when the program is compiled or not.
    pub(crate) fn objects_of<K: Kind>(&self, kind: &K::DynamicType) -> Objects<K> {
        self.caches.objects(kind)
    }

    /// Returns the handle on the objects of a kind in `scope`; the first call with this scope starts its cache.
    pub fn objects_in<K: Kind<DynamicType = ()>>(&self, scope: &Scope) -> Objects<K> {
        self.caches.objects_in(&(), scope)
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.caches.shutdown.cancel();
    }
}

/// Called with a cluster, and whether this process is connected to it for the first time.
type Listener = Arc<dyn Fn(&NamespacedName, bool) + Send + Sync>;
/// Starts a cache in a cluster that is being connected; the future completes when the cache is synced.
type Registration = Arc<dyn Fn(&Workload) -> BoxFuture<'static, ()> + Send + Sync>;

/// The connections to all workload clusters.
#[derive(Clone)]
pub struct ClusterCache(Arc<Inner>);

struct Inner {
    manager: Manager,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    connections: Mutex<BTreeMap<NamespacedName, Arc<Connection>>>,
    listeners: Mutex<Vec<Listener>>,
    registrations: Mutex<Vec<Registration>>,
}

struct Connection {
    poke: Notify,
    stop: CancellationToken,
    state: Mutex<State<Workload>>,
}

/// Returns the name of the Secret with a cluster's kubeconfig; the kubeconfig is under the key `value`.
pub fn kubeconfig_secret(cluster: &NamespacedName) -> NamespacedName {
    NamespacedName::new(cluster.namespace.as_str(), format!("{}-kubeconfig", cluster.name))
}

impl ClusterCache {
    pub(crate) fn start(manager: &Manager) -> Self {
        let inner = Inner {
            manager: manager.clone(),
            clusters: manager.objects(),
            secrets: manager.objects(),
            connections: Mutex::default(),
            listeners: Mutex::default(),
            registrations: Mutex::default(),
        };
        let cache = Self(Arc::new(inner));
        let weak = Arc::downgrade(&cache.0);
        cache.0.clusters.subscribe(move |change| {
            if let Some(inner) = weak.upgrade() {
                inner.cluster_changed(change);
            }
        });
        let weak = Arc::downgrade(&cache.0);
        cache.0.secrets.subscribe(move |change| {
            let name = change.name();
            if let (Some(inner), Some(cluster)) = (weak.upgrade(), name.name.strip_suffix("-kubeconfig")) {
                inner.poke(&NamespacedName::new(name.namespace, cluster));
            }
        });
        let weak = Arc::downgrade(&cache.0);
        manager.objects::<Machine>().subscribe(move |change| {
            // Progress of a Machine is the best hint that its cluster's API server came up.
            if let (Some(inner), Some(machine)) = (weak.upgrade(), &change.new) {
                inner.poke(&NamespacedName::new(change.name().namespace, machine.spec.cluster_name.as_str()));
            }
        });
        cache
    }

    /// Returns a function like [`ClusterCache::unconfirmed`] that keeps neither this cache nor the manager alive.
    pub(crate) fn weak_unconfirmed(
        &self,
    ) -> impl Fn() -> Vec<(NamespacedName, Option<String>)> + Send + Sync + use<> {
        let inner = Arc::downgrade(&self.0);
        move || inner.upgrade().map(|inner| Self(inner).unconfirmed()).unwrap_or_default()
    }

    /// Returns the Clusters whose status says that they are connected although this process never was, each with the cause.
    fn unconfirmed(&self) -> Vec<(NamespacedName, Option<String>)> {
        let clusters = self.0.clusters.all().into_iter().filter(|cluster| says_connected(cluster));
        let names = clusters.map(|cluster| NamespacedName::of(cluster.as_ref()));
        names
            .filter(|name| self.health(name).last_success.is_none())
            .map(|name| (name.clone(), self.problem(&name)))
            .collect()
    }

    /// Returns the connected cluster.
    ///
    /// # Errors
    /// [`Error::NotConnected`]. Queues given to [`ClusterCache::notify`] get a request once it is connected.
    pub fn get(&self, cluster: &NamespacedName) -> Result<Arc<Workload>> {
        let connection = self.0.connections.lock().get(cluster).cloned();
        let workload = connection.and_then(|connection| connection.state.lock().workload.clone());
        workload.ok_or_else(|| Error::NotConnected(cluster.clone()))
    }

    /// Returns the state of the connection.
    pub fn health(&self, cluster: &NamespacedName) -> Health {
        let connection = self.0.connections.lock().get(cluster).cloned();
        connection.map(|connection| connection.state.lock().health).unwrap_or_default()
    }

    /// Returns why there is no connection to the cluster, if attempts have failed for some time, or somebody must correct its kubeconfig.
    pub fn problem(&self, cluster: &NamespacedName) -> Option<String> {
        let connection = self.0.connections.lock().get(cluster).cloned();
        connection.and_then(|connection| connection.state.lock().problem.clone())
    }

    /// Adds the requests that `mapper` returns to `queue`, for each Cluster that was connected or
    /// disconnected, or whose probe failed, or succeeded after a failure.
    pub fn notify(
        &self,
        queue: &Arc<Queue>,
        mapper: impl Fn(&NamespacedName) -> Vec<Request> + Send + Sync + 'static,
    ) {
        let queue = queue.clone();
        self.0.listeners.lock().push(Arc::new(move |cluster, is_first| {
            mapper(cluster).into_iter().for_each(|request| match is_first {
                true => queue.add_expected(request, Cause::Connection),
                false => queue.add(request, Cause::Connection),
            });
        }));
    }

    /// Keeps a cache of `K` in each workload cluster and adds the requests that `mapper` returns for each
    /// change to `queue`. Call it while the controller is built, before any Cluster is connected.
    pub fn watch<K: Kind<DynamicType = ()>>(
        &self,
        queue: &Arc<Queue>,
        mapper: impl Fn(&NamespacedName, &Change<K>) -> Vec<Request> + Send + Sync + 'static,
    ) {
        self.watch_in(queue, Scope::default(), mapper);
    }

    /// Like [`ClusterCache::watch`], for the objects in `scope`. A kind of which a production cluster has many objects, such as Pod, needs
    /// one.
    pub fn watch_in<K: Kind<DynamicType = ()>>(
        &self,
        queue: &Arc<Queue>,
        scope: Scope,
        mapper: impl Fn(&NamespacedName, &Change<K>) -> Vec<Request> + Send + Sync + 'static,
    ) {
        let (queue, mapper) = (queue.clone(), Arc::new(mapper));
        self.0.registrations.lock().push(Arc::new(move |workload| {
            let objects = workload.objects_in::<K>(&scope);
            let (mapper, cluster) = (mapper.clone(), workload.cluster.clone());
            objects.notify(&queue, &K::kind(&()), move |change| mapper(&cluster, change));
            async move { objects.wait_until_synced().await }.boxed()
        }));
    }
}

impl Inner {
    fn cluster_changed(self: Arc<Self>, change: &Change<Cluster>) {
        let name = change.name();
        let says = |cluster: &Option<Arc<Cluster>>| cluster.as_deref().is_some_and(says_connected);
        if says(&change.old) && !says(&change.new) {
            // Nobody waits for its connection any more.
            self.manager.startup().confirmed();
        }
        let mut connections = self.connections.lock();
        let Some(cluster) = &change.new else {
            if let Some(connection) = connections.remove(&name) {
                connection.stop.cancel();
            }
            return;
        };
        if let Some(connection) = connections.get(&name) {
            return connection.poke.notify_one();
        }
        if !is_provisioned(cluster) {
            return;
        }
        let stop = self.manager.shutdown_token().child_token();
        let connection = Arc::new(Connection { poke: Notify::new(), stop, state: Mutex::default() });
        connections.insert(name.clone(), connection.clone());
        drop(connections);
        let inner = self.clone();
        self.manager.spawn(async move {
            let stop = connection.stop.clone();
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = inner.keep_connected(&name, &connection) => {}
            }
            connection.state.lock().workload = None;
        });
    }

    fn poke(&self, cluster: &NamespacedName) {
        if let Some(connection) = self.connections.lock().get(cluster) {
            connection.poke.notify_one();
        }
    }

    fn publish(&self, cluster: &NamespacedName) {
        self.tell(cluster, false);
    }

    fn tell(&self, cluster: &NamespacedName, is_first: bool) {
        let listeners = self.listeners.lock().clone();
        for listener in listeners {
            listener(cluster, is_first);
        }
    }

    /// Waits for the kubeconfig Secret and returns its content.
    async fn kubeconfig(&self, cluster: &NamespacedName, connection: &Connection) -> Vec<u8> {
        loop {
            if let Some(secret) = self.secrets.get(&kubeconfig_secret(cluster)) {
                if let Some(value) = secret.data.as_ref().and_then(|data| data.get("value")) {
                    return value.0.clone();
                }
                let error = Error::Kubeconfig("it has no key value".to_owned());
                self.failed(cluster, connection, &error, "");
            }
            connection.poke.notified().await;
        }
    }

    async fn keep_connected(&self, cluster: &NamespacedName, connection: &Connection) {
        let mut back_off = BACK_OFF_BASE;
        loop {
            let kubeconfig = self.kubeconfig(cluster, connection).await;
            let (answers, network) = (self.manager.answers(), self.manager.network());
            let clients = WorkloadClients::within(answers, network, self.manager.clock(), &kubeconfig);
            let address = clients.as_ref().map(|clients| clients.address.clone()).unwrap_or_default();
            let connected = async { self.connect(cluster, clients?).await };
            match connected.await {
                Ok(workload) => {
                    back_off = BACK_OFF_BASE;
                    self.connected(cluster, connection, workload);
                    self.watch_over(cluster, connection, &kubeconfig).await;
                    self.disconnected(cluster, connection);
                }
                Err(error) => {
                    tracing::debug!(%cluster, %error, "no connection yet");
                    self.failed(cluster, connection, &error, &address);
                    tokio::select! {
                        biased;
                        () = connection.poke.notified() => {}
                        () = self.manager.clock().sleep(back_off) => {}
                    }
                    back_off = (back_off * 2).min(BACK_OFF_MAX);
                }
            }
        }
    }

    async fn connect(&self, cluster: &NamespacedName, clients: WorkloadClients) -> Result<Workload> {
        probe(&clients.shared).await?;
        let caches = self.manager.caches_of(clients.shared);
        let (dedicated, address) = (clients.dedicated, clients.address);
        let workload = Workload { cluster: cluster.clone(), caches, dedicated, address };
        let registrations = self.registrations.lock().clone();
        let synced = join_all(registrations.iter().map(|register| register(&workload)));
        match tokio::time::timeout(SYNC_TIMEOUT, synced).await {
            Ok(_) => Ok(workload),
            Err(_) => {
                Err(Error::failed(format!("the caches of {cluster} are not synced after {SYNC_TIMEOUT:?}")))
            }
        }
    }

    /// Counts a failed attempt to reach the API server at `address`. A cause that lasts goes into the log once, and to the controllers, whose
    /// conditions name it; so does the number of failures from which on nobody counts on the cluster. Returns the number in a row.
    fn failed(&self, cluster: &NamespacedName, connection: &Connection, error: &Error, address: &str) -> u32 {
        let (cause, is_told_at_once) = match error {
            Error::Kubeconfig(problem) => {
                (format!("Secret {}: {problem}", kubeconfig_secret(cluster).name), true)
            }
            error => (connection_cause::of(error, address), false),
        };
        let (has_changed, problem, failures) = {
            let mut state = connection.state.lock();
            let has_changed = state.fail(cause, is_told_at_once, self.manager.clock().monotonic());
            (has_changed, state.problem.clone(), state.health.failures)
        };
        if has_changed {
            match problem {
                // Until its first machine runs, nothing is wrong.
                Some(cause) if !is_told_at_once && !self.is_initialized(cluster) => {
                    tracing::info!(%cluster, %cause, "no connection to the workload cluster yet");
                }
                Some(cause) => tracing::warn!(%cluster, %cause, "no connection to the workload cluster"),
                None => {}
            }
        }
        if has_changed || failures == PROBE_FAILURES {
            self.publish(cluster);
        }
        failures
    }

    fn is_initialized(&self, cluster: &NamespacedName) -> bool {
        self.clusters.get(cluster).is_some_and(|cluster| initialization::has_control_plane(&cluster))
    }

    fn connected(&self, cluster: &NamespacedName, connection: &Connection, workload: Workload) {
        let health = Health { connected: true, last_success: Some(self.manager.clock().now()), failures: 0 };
        let state = State { workload: Some(Arc::new(workload)), health, ..State::default() };
        let before = {
            let mut state_now = connection.state.lock();
            std::mem::replace(&mut *state_now, state)
        };
        if before.problem.is_some() {
            tracing::info!(%cluster, "connected to the workload cluster");
        }
        self.tell(cluster, before.health.last_success.is_none());
        self.manager.startup().confirmed();
    }

    fn disconnected(&self, cluster: &NamespacedName, connection: &Connection) {
        {
            let mut state = connection.state.lock();
            state.workload = None;
            state.health.connected = false;
        }
        tracing::debug!(%cluster, "disconnected");
        self.publish(cluster);
    }

    /// Probes the connected cluster. Returns when a new connection is necessary.
    async fn watch_over(&self, cluster: &NamespacedName, connection: &Connection, kubeconfig: &[u8]) {
        let mut next_probe = self.manager.clock().monotonic() + PROBE_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = connection.poke.notified() => {
                    let secret = self.secrets.get(&kubeconfig_secret(cluster));
                    let value = secret.and_then(|secret| secret.data.as_ref()?.get("value").cloned());
                    if value.is_some_and(|value| value.0 != kubeconfig) {
                        return;
                    }
                    continue;
                }
                () = tokio::time::sleep_until(next_probe) => {}
            }
            next_probe = self.manager.clock().monotonic() + PROBE_INTERVAL;
            let Some(workload) = connection.state.lock().workload.clone() else { return };
            match probe(workload.client()).await {
                Ok(()) => {
                    let failed = {
                        let mut state = connection.state.lock();
                        state.health.last_success = Some(self.manager.clock().now());
                        (state.problem, state.failing) = (None, None);
                        std::mem::take(&mut state.health.failures) > 0
                    };
                    // Conditions may already say that the cluster does not answer.
                    if failed {
                        self.publish(cluster);
                    }
                }
                Err(error) => {
                    let failures = self.failed(cluster, connection, &error, &workload.address);
                    tracing::debug!(%cluster, %error, failures, "a probe failed");
                    self.publish(cluster);
                    if failures >= PROBE_FAILURES || error.status().is_some_and(|status| status.code == 401) {
                        return;
                    }
                }
            }
        }
    }
}

/// Returns whether the status of a Cluster counts only once this process is connected to it. Nothing of a paused one is reconciled, so it may
/// stay without a connection.
fn says_connected(cluster: &Cluster) -> bool {
    cluster.condition_is_true("RemoteConnectionProbe") && paused::causes(cluster, Some(cluster)).is_empty()
}

fn is_provisioned(cluster: &Cluster) -> bool {
    initialization::has_infrastructure(cluster) && !object::uid(cluster).is_empty()
}

/// Requests the API server's root page.
async fn probe(client: &Client) -> Result<()> {
    let request = http::Request::get("/").body(Vec::new());
    let request = request.map_err(|error| Error::api("probe", kube::Error::HttpError(error)))?;
    match tokio::time::timeout(PROBE_TIMEOUT, client.request_text(request)).await {
        Ok(answer) => answer.map(|_| ()).map_err(|error| Error::api("probe", error)),
        Err(_) => Err(Error::failed(format!("probe: no answer within {PROBE_TIMEOUT:?}"))),
    }
}
