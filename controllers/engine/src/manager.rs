//! The state that all controllers of a process share.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::Client;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use machinery::clock::Clock;
use machinery::random::Random;
use net::Network;
use parking_lot::Mutex;
use schemas::admission::Features;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::caches::Caches;
use crate::clusters::{ClusterCache, Workload};
use crate::contract::Contracts;
use crate::events::Recorder;
use crate::metrics::Metrics;
use crate::object::Kind;
use crate::objects::Objects;
use crate::queue::Queue;
use crate::quota::{Budget, Quota};
use crate::startup::Startup;
use crate::workload_clients::bounded::Answers;

/// The inputs of a [`Manager`].
pub struct ManagerOptions {
    /// Client of the management cluster: in-process, or of any other API server.
    pub client: Client,
    /// The clock.
    pub clock: Clock,
    /// The source of random numbers.
    pub random: Random,
    /// The network, through which connections to other machines are made.
    pub network: Arc<dyn Network>,
    /// The metrics registry in which the controllers count.
    pub metrics: metrics::Metrics,
    /// What the user chose for all controllers.
    pub settings: Settings,
}

/// What was chosen for all controllers of a process, mostly by the user, as for upstream's managers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The feature gates (`--feature-gates`).
    pub features: Features,
    /// The only namespace whose objects are read and reconciled (`--namespace`); `None` for all.
    pub namespace: Option<String>,
    /// The value that the label `cluster.x-k8s.io/watch-filter` must have on each object that is reconciled (`--watch-filter`).
    pub watch_filter: Option<String>,
    /// Whether no Kubernetes Events are recorded, for controllers whose events nobody reads.
    pub without_events: bool,
}

/// State shared by all controllers: client, caches, clock, randomness, network, connections to workload
/// clusters, metrics. Cheap to clone.
#[derive(Clone)]
pub struct Manager(Arc<Inner>);

struct Inner {
    options: ManagerOptions,
    metrics: Metrics,
    caches: Caches,
    queues: Mutex<Vec<Arc<Queue>>>,
    clusters: OnceLock<ClusterCache>,
    contracts: OnceLock<Contracts>,
    event_names: Arc<Mutex<i64>>,
    startup: Arc<Startup>,
    budget: Arc<Budget>,
    answers: Answers,
}

impl Manager {
    /// Creates a manager without controllers.
    pub fn new(options: ManagerOptions) -> Self {
        let (client, clock) = (options.client.clone(), options.clock.clone());
        let metrics = Metrics::of(&options.metrics);
        let mut caches = Caches::new(client, clock, CancellationToken::new(), TaskTracker::new());
        caches.scope.namespace.clone_from(&options.settings.namespace);
        Self(Arc::new(Inner {
            options,
            metrics,
            caches,
            queues: Mutex::default(),
            clusters: OnceLock::new(),
            contracts: OnceLock::new(),
            event_names: Arc::default(),
            startup: Arc::default(),
            budget: Arc::default(),
            answers: Answers::default(),
        }))
    }

    /// Returns the client of the management cluster.
    pub fn client(&self) -> &Client {
        &self.0.options.client
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Clock {
        &self.0.options.clock
    }

    /// Returns the source of random numbers.
    pub fn random(&self) -> &Random {
        &self.0.options.random
    }

    /// Returns the network, through which connections to other machines are made.
    pub fn network(&self) -> &Arc<dyn Network> {
        &self.0.options.network
    }

    /// Returns the features that are on.
    pub fn features(&self) -> Features {
        self.0.options.settings.features
    }

    /// Returns what the user chose for all controllers.
    pub fn settings(&self) -> &Settings {
        &self.0.options.settings
    }

    /// Returns the metrics of all controllers.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// Returns all metrics of the process, in which other components count, too.
    pub fn all_metrics(&self) -> &metrics::Metrics {
        &self.0.options.metrics
    }

    /// Returns whether every cache has been filled. Until then, controllers may wait.
    pub fn is_synced(&self) -> bool {
        self.0.caches.are_synced()
    }

    /// Returns the token that is cancelled when the manager stops.
    pub fn shutdown_token(&self) -> &CancellationToken {
        &self.0.caches.shutdown
    }

    /// Returns the handle on a typed kind; the first call starts its cache.
    pub fn objects<K: Kind<DynamicType = ()>>(&self) -> Objects<K> {
        self.0.caches.objects(&())
    }

    /// Returns the handle on a kind that is known only at run time; the first call starts its cache.
    pub fn dynamic(&self, resource: &ApiResource) -> Objects<DynamicObject> {
        self.0.caches.objects(resource)
    }

    /// Returns the handle on a kind, known when the program is compiled or not.
    pub(crate) fn objects_of<K: Kind>(&self, kind: &K::DynamicType) -> Objects<K> {
        self.0.caches.objects(kind)
    }

    /// Creates the caches of a workload cluster; they end with its connection or with the manager.
    pub(crate) fn caches_of(&self, client: Client) -> Caches {
        let shutdown = self.shutdown_token().child_token();
        let mut caches = Caches::new(client, self.clock().clone(), shutdown, self.0.caches.tasks.clone());
        caches.quota = Some(Arc::new(Quota::of(&self.0.budget)));
        caches
    }

    /// Returns what all workload clusters are sending.
    pub(crate) fn answers(&self) -> &Answers {
        &self.0.answers
    }

    /// Returns the connections to workload clusters; the first call starts watching Clusters.
    pub fn clusters(&self) -> &ClusterCache {
        self.0.clusters.get_or_init(|| {
            let clusters = ClusterCache::start(self);
            self.startup().follow_clusters(clusters.weak_unconfirmed());
            clusters
        })
    }

    /// Returns what the controllers have not confirmed since this process started.
    pub fn startup(&self) -> &Arc<Startup> {
        &self.0.startup
    }

    /// Returns the resolver of contract versions; the first call starts watching CustomResourceDefinitions.
    pub fn contracts(&self) -> &Contracts {
        self.0.contracts.get_or_init(|| Contracts::start(self))
    }

    /// Creates an event recorder for the controller `component`.
    pub fn recorder(&self, component: &'static str) -> Recorder {
        Recorder::start(self, self.client(), component)
    }

    /// Creates an event recorder for the controller `component` about objects of a workload cluster. It is as good as the connection: another one
    /// needs another recorder.
    pub fn workload_recorder(&self, workload: &Workload, component: &'static str) -> Recorder {
        Recorder::start(self, workload.client(), component)
    }

    /// Returns the nanoseconds in the last event's name, shared by all recorders so that names stay unique.
    pub(crate) fn event_names(&self) -> &Arc<Mutex<i64>> {
        &self.0.event_names
    }

    /// Spawns a task that is cancelled when the manager stops.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.caches.spawn(task)
    }

    /// Does some work when the manager stops, which waits for it.
    pub fn at_end(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stops = self.shutdown_token().clone();
        self.0.caches.tasks.spawn(async move {
            stops.cancelled().await;
            work.await;
        });
    }

    pub(crate) fn add_queue(&self, name: &'static str, queue: &Arc<Queue>) {
        self.0.metrics.show_queue(name, queue);
        self.0.queues.lock().push(queue.clone());
    }

    /// Returns whether no controller is working, has queued work, or has a reconcile due within `horizon`.
    pub fn is_idle(&self, horizon: Duration) -> bool {
        self.0.queues.lock().iter().all(|queue| queue.is_idle(horizon))
    }

    /// Stops every task and waits for them. Reconciles are cancelled at their current await point; every
    /// reconcile must tolerate that.
    pub async fn stop(&self) {
        let caches = &self.0.caches;
        caches.shutdown.cancel();
        caches.tasks.close();
        caches.tasks.wait().await;
    }
}
