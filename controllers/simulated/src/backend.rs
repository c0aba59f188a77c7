//! The workload clusters of this process, by namespace and name of their Cluster, and the ports they listen
//! on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::queue::Cause;
use engine::{Error, Left, Manager, NamespacedName, Queue, Request, Result};
use machinery::clock::Clock;
use net::Listener;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::hand_over::HandOver;
use crate::names::{PORTS, not_simulated};
use crate::workload::Workload;
use crate::workload::state::Rows;

/// How long a listener waits after it could not accept a connection: the process has too many open files, for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Returns the machines of a cluster, which start its servers.
type Machines = Box<dyn Fn(&NamespacedName) -> Vec<Request> + Send + Sync>;

/// All workload clusters of this process. Cheap to clone.
#[derive(Clone)]
pub struct Backend(Arc<Inner>);

struct Inner {
    manager: Manager,
    host: String,
    hand_over: HandOver,
    clusters: tokio::sync::Mutex<BTreeMap<NamespacedName, Running>>,
    next_port: Mutex<u16>,
    /// Whether other controllers of this process have the objects with the Docker backend.
    has_containers: bool,
    /// The queue of the controller of machines.
    machines: OnceLock<(Arc<Queue>, Machines)>,
}

struct Running {
    workload: Arc<Workload>,
    port: u16,
    accepting: JoinHandle<()>,
}

impl Backend {
    /// Creates a backend whose clusters listen on `host`.
    pub fn new(manager: &Manager, host: &str) -> Self {
        Self::create(manager, host, false)
    }

    /// Creates a backend like [`Backend::new`] in a process whose other controllers have the objects with the Docker backend.
    pub fn beside_containers(manager: &Manager, host: &str) -> Self {
        Self::create(manager, host, true)
    }

    fn create(manager: &Manager, host: &str, has_containers: bool) -> Self {
        Self(Arc::new(Inner {
            manager: manager.clone(),
            host: host.to_owned(),
            hand_over: HandOver::new(manager.objects()),
            clusters: tokio::sync::Mutex::default(),
            next_port: Mutex::new(first_port(manager)),
            has_containers,
            machines: OnceLock::new(),
        }))
    }

    /// Returns to whom an object of this kind is left, which has no in-memory backend.
    pub(crate) fn left(&self, kind: &str, is_in_docker: bool) -> Left {
        match is_in_docker && self.0.has_containers {
            true => Left::ToAnotherHere,
            false => Left::ToNobodyHere(not_simulated(kind, is_in_docker)),
        }
    }

    /// Returns the host on which all clusters listen.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Returns the Secrets with the state of clusters that are being moved.
    pub fn hand_over(&self) -> &HandOver {
        &self.0.hand_over
    }

    /// Names the queue of the controller of machines, which gets the requests that `machines` returns for a cluster. Called once, before
    /// the first cluster starts.
    pub(crate) fn notify_machines(
        &self,
        queue: Arc<Queue>,
        machines: impl Fn(&NamespacedName) -> Vec<Request> + Send + Sync + 'static,
    ) {
        drop(self.0.machines.set((queue, Box::new(machines))));
    }

    /// Lets the controller of machines reconcile all machines of a cluster: they start the servers that its endpoint lacks.
    pub(crate) fn reconcile_machines(&self, cluster: &NamespacedName) {
        if let Some((queue, machines)) = self.0.machines.get() {
            machines(cluster).into_iter().for_each(|request| queue.add(request, Cause::Outside));
        }
    }

    /// Returns the cluster if it runs.
    pub async fn get(&self, cluster: &NamespacedName) -> Option<Arc<Workload>> {
        self.0.clusters.lock().await.get(cluster).map(|running| running.workload.clone())
    }

    /// Returns the cluster and its port, and starts it if it does not run: on port `wanted`, or for `None` on
    /// any free port that is not in `reserved`. A cluster that was moved here starts with its handed-over
    /// state.
    ///
    /// # Errors
    /// Fails if no port is free, the wanted port is taken, or the handed-over state cannot be read.
    pub async fn start(
        &self,
        cluster: &NamespacedName,
        wanted: Option<u16>,
        reserved: &BTreeSet<u16>,
    ) -> Result<(Arc<Workload>, u16)> {
        let mut clusters = self.0.clusters.lock().await;
        if let Some(running) = clusters.get(cluster) {
            return Ok((running.workload.clone(), running.port));
        }
        let listener = self.listen(wanted, reserved).await?;
        let manager = &self.0.manager;
        let rows = match self.0.hand_over.read(cluster).await? {
            Some(state) => Rows::read(&state).map_err(|why| {
                Error::failed(format!(
                    "the state with which Cluster {cluster} was handed over cannot be used: {why}"
                ))
            })?,
            None => Rows::default(),
        };
        let workload = Workload::new(manager.clock(), manager.random(), rows).await;
        let workload = workload.map_err(|error| Error::failed(error.to_string()))?;
        let port = listener.port();
        let accepting = manager.spawn(accept(listener, workload.clone(), manager.clock().clone()));
        clusters.insert(cluster.clone(), Running { workload: workload.clone(), port, accepting });
        // Machines that were reconciled before it was there have started nothing in it.
        self.reconcile_machines(cluster);
        Ok((workload, port))
    }

    /// Stops the cluster and closes its port.
    pub async fn remove(&self, cluster: &NamespacedName) {
        if let Some(running) = self.0.clusters.lock().await.remove(cluster) {
            running.workload.close();
            running.accepting.abort();
        }
    }

    /// Stops the clusters of a namespace that are not `wanted`. Their DevCluster disappeared without a
    /// deletion, which happens when it is moved.
    pub async fn retain(&self, namespace: &str, wanted: impl Fn(&NamespacedName) -> bool) {
        let clusters = self.0.clusters.lock().await;
        let here = clusters.keys().filter(|cluster| cluster.namespace == namespace);
        let lost: Vec<NamespacedName> = here.filter(|cluster| !wanted(cluster)).cloned().collect();
        drop(clusters);
        for cluster in &lost {
            self.remove(cluster).await;
        }
    }

    async fn listen(&self, wanted: Option<u16>, reserved: &BTreeSet<u16>) -> Result<Box<dyn Listener>> {
        let network = self.0.manager.network();
        if let Some(port) = wanted {
            // Kubeconfigs and certificates name the endpoint, so no other port can be used.
            let taken = |error| {
                Error::failed(format!(
                    "cannot listen on {}:{port}, the cluster's endpoint: {error}; end the process that holds the port, \
                     which may be another firstlight (it is tried again until it succeeds), or delete the Cluster",
                    self.0.host
                ))
            };
            return network.listen(&self.0.host, port).await.map_err(taken);
        }
        for _ in PORTS {
            let port = self.next_port();
            if reserved.contains(&port) {
                continue;
            }
            // Another process may hold the port, so the next one is tried.
            if let Ok(listener) = network.listen(&self.0.host, port).await {
                return Ok(listener);
            }
        }
        Err(Error::failed(format!(
            "no port from {} to {} is free on {}",
            PORTS.start,
            PORTS.end - 1,
            self.0.host
        )))
    }

    fn next_port(&self) -> u16 {
        let mut next = self.0.next_port.lock();
        let port = *next;
        *next = if port + 1 < PORTS.end { port + 1 } else { PORTS.start };
        port
    }
}

/// Returns the port of the first cluster. It differs from process to process: a cluster keeps its port for life, and another
/// firstlight of the machine would otherwise take the same one while this one is stopped.
fn first_port(manager: &Manager) -> u16 {
    let offset = manager.random().number() % u64::from(PORTS.end - PORTS.start);
    PORTS.start + u16::try_from(offset).unwrap_or_default()
}

async fn accept(mut listener: Box<dyn Listener>, workload: Arc<Workload>, clock: Clock) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let workload = workload.clone();
                drop(tokio::spawn(async move { workload.serve(stream).await }));
            }
            Err(error) => {
                tracing::warn!(%error, "a workload cluster could not accept a connection");
                clock.sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
