//! Follows the Pods that run here, and gives each a worker.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use anyhow::Result;
use container_images::{Registries, Sources, Store};
use engine::controller::requests_of;
use engine::{Action, Controller, GroupKind, Manager, NamespacedName, Objects, Reconciler, Request};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};
use metrics::Limits;
use parking_lot::Mutex;
use pod_network::Networks;
use pod_processes::Isolation;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::folders::Folders;
use crate::logs::LogFile;
use crate::pod::groups::Groups;
use crate::pod::place::Reach;
use crate::pod::ports::Ports;
use crate::pod::shared::{Logs, Shared};
use crate::pod::worker;
use crate::proxies::ProxyVariables;
use crate::services::Services;

/// The inputs of a [`Kubelet`].
pub struct Options {
    /// The folder for images, volumes and logs.
    pub folder: PathBuf,
    /// Where images are found.
    pub sources: Sources,
    /// Where other images are pulled from.
    pub registries: Arc<Registries>,
    /// The separation of processes from this machine.
    pub isolation: Isolation,
    /// The networks of Pods.
    pub networks: Networks,
    /// Host and port under which processes in the network of this machine reach the API server.
    pub api: (String, u16),
    /// The certificates of the API server's authorities, in PEM. Namespaces without a ConfigMap `kube-root-ca.crt` get these.
    pub authority: String,
    /// The name of this machine as a Node.
    pub node: String,
    /// The variables by which Pods reach other machines through proxies.
    pub proxies: ProxyVariables,
}

/// The kind that a kubelet reconciles.
pub const KIND: GroupKind = GroupKind::new("", "Pod");

/// The Pods of this machine.
#[derive(Clone)]
pub struct Kubelet(Arc<Machine>);

struct Machine {
    options: Options,
    folders: Folders,
    images: Store,
    workers: Mutex<BTreeMap<NamespacedName, Worker>>,
    logs: Logs,
}

/// The controller that follows the Pods.
struct Follower {
    pods: Objects<Pod>,
    namespaces: Objects<Namespace>,
    shared: Arc<Shared>,
    kubelet: Kubelet,
}

/// A worker of a Pod. Dropping it kills the Pod's processes.
struct Worker {
    uid: String,
    /// Where others reach the Pod, once that is known.
    reach: Arc<OnceLock<Reach>>,
    pods: watch::Sender<Option<Arc<Pod>>>,
    /// Locked while the Pod's folder is changed.
    alone: Arc<tokio::sync::Mutex<()>>,
    task: JoinHandle<()>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Identifies the start of this machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How soon the Pods are read again if that failed when the server started.
const SWEEP_AGAIN: Duration = Duration::from_secs(10);

impl Kubelet {
    /// Prepares the folder of a machine.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn new(options: Options) -> Result<Self> {
        let images = Store::open(&options.folder.join("images"))?;
        let boot = fs::read_to_string(BOOT_ID).unwrap_or_default();
        let folders = Folders::open(&options.folder, &boot)?;
        Ok(Self(Arc::new(Machine {
            options,
            folders,
            images,
            workers: Mutex::default(),
            logs: Logs::default(),
        })))
    }

    /// Starts to follow the Pods. It ends with the manager, and kills all processes then.
    pub fn start(&self, manager: &Manager) {
        let (pods, namespaces) = (manager.objects::<Pod>(), manager.objects::<Namespace>());
        let options = &self.0.options;
        let shared = Shared {
            client: manager.client().clone(),
            clock: manager.clock().clone(),
            images: self.0.images.clone(),
            sources: options.sources.clone(),
            registries: options.registries.clone(),
            isolation: options.isolation,
            folders: self.0.folders.clone(),
            api: options.api.clone(),
            authority: options.authority.clone(),
            node: options.node.clone(),
            proxies: options.proxies.clone(),
            networks: options.networks.clone(),
            network: manager.network().clone(),
            reached: Limits::of(manager.all_metrics()),
            ports: Ports::default(),
            groups: Groups::default(),
            logs: self.0.logs.clone(),
            recorder: manager.recorder("kubelet"),
        };
        // The networks belong to the kubelet, so they must not keep it.
        let machine = Arc::downgrade(&self.0);
        let on_host = move |is_it: &dyn Fn(&str) -> bool, port| machine.upgrade()?.reach_on_host(is_it, port);
        options.networks.serve(Arc::new(Services::new(manager, Box::new(on_host))));
        let shared = Arc::new(shared);
        manager.spawn(sweep(shared.clone()));
        let mapped = pods.clone();
        let follower =
            Follower { pods: pods.clone(), namespaces: namespaces.clone(), shared, kubelet: self.clone() };
        Controller::new(manager, "kubelet")
            .reconciles(&pods)
            .watches(&namespaces, move |change| {
                requests_of(&mapped.cache().in_namespace(&change.name().name))
            })
            .start(follower);
    }

    /// Ends all processes.
    pub fn stop(&self) {
        self.0.workers.lock().clear();
    }

    /// Returns where the Pod with this UID listens for a port that it names; `None` if it does not run here, or has no address yet.
    pub fn reach(&self, uid: &str, port: u16) -> Option<(String, u16)> {
        let workers = self.0.workers.lock();
        let reach = workers.values().find(|worker| worker.uid == uid)?.reach.get()?;
        Some((reach.address.clone(), reach.moves.get(&port).copied().unwrap_or(port)))
    }

    /// Like [`Kubelet::reach`], for the Pod with this name.
    pub fn reach_named(&self, namespace: &str, name: &str, port: u16) -> Option<(String, u16)> {
        let uid = self.0.workers.lock().get(&NamespacedName::new(namespace, name))?.uid.clone();
        self.reach(&uid, port)
    }

    /// Returns the log of the newest start of a container of the Pod with this UID, or of the start before; `None` if there is none.
    pub fn log(&self, uid: &str, container: &str, previous: bool) -> Option<LogFile> {
        let folder = self.0.folders.logs(uid, container);
        let starts = fs::read_dir(&folder).ok()?.filter_map(|entry| {
            let name = entry.ok()?.file_name().to_string_lossy().into_owned();
            name.strip_suffix(".log")?.parse::<i32>().ok()
        });
        let mut starts: Vec<i32> = starts.collect();
        starts.sort_unstable();
        let start = starts.iter().rev().nth(usize::from(previous))?;
        let path = folder.join(format!("{start}.log"));
        let written = if previous { None } else { self.0.logs.lock().get(&path).and_then(Weak::upgrade) };
        Some(LogFile { written: written.map(|log| log.subscribe()), path })
    }
}

impl Machine {
    /// Returns where a Pod in the network of this machine listens for a port that it names; `None` for others.
    fn reach_on_host(&self, is_it: &dyn Fn(&str) -> bool, port: u16) -> Option<SocketAddr> {
        let workers = self.workers.lock();
        let mut found = workers.values().filter(|worker| is_it(&worker.uid));
        let reach = found.find_map(|worker| worker.reach.get().filter(|reach| reach.is_host))?;
        let port = reach.moves.get(&port).copied().unwrap_or(port);
        Some(SocketAddr::new(reach.address.parse().ok()?, port))
    }
}

impl Follower {
    /// Gives the worker of a Pod the newest state of it.
    fn follow(&self, key: NamespacedName, pod: Arc<Pod>) {
        let uid = pod.uid().unwrap_or_default();
        let mut workers = self.kubelet.0.workers.lock();
        if let Some(worker) = workers.get(&key).filter(|worker| worker.uid == uid) {
            worker.pods.send_replace(Some(pod));
            return;
        }
        let (sender, receiver) = watch::channel(Some(pod));
        let (reach, alone) = (Arc::new(OnceLock::new()), Arc::default());
        let task = worker::run(self.shared.clone(), receiver, reach.clone(), Arc::clone(&alone));
        let worker = Worker { uid, reach, pods: sender, alone, task: tokio::spawn(task) };
        // A Pod that was deleted and created again is seen once if both came together.
        let gone = workers.insert(key, worker);
        drop(workers);
        if let Some(gone) = gone {
            self.discard(gone);
        }
    }

    /// Ends what is left of a Pod that is gone, and removes its folder.
    fn discard(&self, mut worker: Worker) {
        let shared = self.shared.clone();
        tokio::spawn(async move {
            // Its end kills what still runs. Nothing is written into the folder after that.
            worker.task.abort();
            (&mut worker.task).await.ok();
            let alone = worker.alone.clone().lock_owned().await;
            let removed = tokio::task::spawn_blocking(move || {
                shared.folders.discard(&worker.uid);
                drop(alone);
            });
            removed.await.ok();
        });
    }

    /// Binds a Pod that no scheduler has bound to a Node.
    async fn bind(&self, pod: &Pod) -> engine::Result<()> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": pod.name_any(), "namespace": pod.namespace(), "uid": pod.uid()},
            "target": {"kind": "Node", "name": self.shared.node},
        });
        let path = format!("{}/{}/binding", Pod::url_path(&(), pod.namespace().as_deref()), pod.name_any());
        let what = "bind a Pod";
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let request = request.body(binding.to_string().into_bytes());
        let request = request.map_err(|error| engine::Error::api(what, kube::Error::HttpError(error)))?;
        self.shared
            .client
            .request_text(request)
            .await
            .map(drop)
            .map_err(|error| engine::Error::api(what, error))
    }
}

/// Removes the folders of Pods that were deleted while no server ran, or whose removal one did not complete: they may contain Secrets.
async fn sweep(shared: Arc<Shared>) {
    // All of them: this server may follow the Pods of one namespace only.
    let pods: Api<Pod> = Api::all(shared.client.clone());
    let gone = loop {
        // Before the Pods are read, so that each folder of a Pod that exists is one of theirs.
        let mut folders = shared.folders.uids();
        match pods.list_metadata(&ListParams::default()).await {
            Ok(pods) => {
                let known: BTreeSet<String> = pods.iter().filter_map(|pod| pod.uid()).collect();
                folders.retain(|uid| !known.contains(uid));
                break folders;
            }
            Err(error) => tracing::warn!("the folders of deleted Pods are not removed yet: {error}"),
        }
        shared.clock.sleep(SWEEP_AGAIN).await;
    };
    let removed =
        tokio::task::spawn_blocking(move || gone.iter().for_each(|uid| shared.folders.discard(uid)));
    removed.await.ok();
}

impl Reconciler for Follower {
    async fn reconcile(&self, request: Request) -> engine::Result<Action> {
        let Some(pod) = self.pods.get(&request) else {
            let gone = self.kubelet.0.workers.lock().remove(&request);
            if let Some(gone) = gone {
                self.discard(gone);
            }
            return Ok(Action::done());
        };
        let namespace = self.namespaces.get(&NamespacedName::new("", &request.namespace));
        if !namespace.is_some_and(|namespace| workloads::is_run_here(&namespace)) {
            return Ok(Action::done());
        }
        match pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default() {
            "" if pod.metadata.deletion_timestamp.is_none() => self.bind(&pod).await?,
            node if node == self.shared.node => self.follow(request, pod),
            _ => {}
        }
        Ok(Action::done())
    }
}
