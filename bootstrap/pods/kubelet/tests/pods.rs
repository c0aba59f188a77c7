//! The folders of Pods that come and go, over a server of the test.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use container_images::{Registries, Sources};
use distribution::{Client as RegistryClient, Hosts};
use engine::{Manager, ManagerOptions, Settings};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use kubelet::{Kubelet, Options, ProxyVariables};
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;
use pod_network::Networks;
use pod_network::helper::Program;
use pod_processes::Isolation;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;

/// The longest time for which a test waits.
const DEADLINE: Duration = Duration::from_secs(600);
const NODE: &str = "machine";

/// An API server with at most one Pod. Requests that have nothing to do with the test are never answered.
#[derive(Default)]
struct Server {
    /// The UID of the Pod; empty if there is none.
    pod: &'static str,
    /// The number of lists of the Pods' metadata that fail from now on.
    failures: AtomicUsize,
    /// Such a list was answered.
    listed: Notify,
    /// The Pod is to be deleted and created again.
    replace: Notify,
}

fn pod(uid: &str, version: u64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "manager", "namespace": "provider", "uid": uid, "resourceVersion": version.to_string()},
        "spec": {"nodeName": NODE, "containers": [{"name": "manager", "image": "none"}]},
    })
}

fn list(kind: &str, items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "5"}, "items": items})
}

impl Server {
    fn pods(&self, kind: &str) -> Value {
        let pods = (!self.pod.is_empty()).then(|| pod(self.pod, 3));
        list(kind, pods.as_slice())
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let accept = request.headers().get("accept").map(|accept| accept.to_str().unwrap());
        let is_metadata = accept.is_some_and(|accept| accept.contains("PartialObjectMetadata"));
        let (mut code, body) = match (request.uri().path(), is_watch) {
            ("/api/v1/namespaces", false) => {
                let labels = json!({"cluster.x-k8s.io/provider": "infrastructure-test"});
                let metadata =
                    json!({"name": "provider", "uid": "n", "resourceVersion": "1", "labels": labels});
                (200, list("NamespaceList", &[json!({"metadata": metadata})]).to_string())
            }
            ("/api/v1/pods", false) if is_metadata => {
                self.listed.notify_one();
                (200, self.pods("PartialObjectMetadataList").to_string())
            }
            ("/api/v1/pods", false) => (200, self.pods("PodList").to_string()),
            ("/api/v1/pods", true) => {
                self.replace.notified().await;
                let events = [("DELETED", pod(self.pod, 6)), ("ADDED", pod("second", 7))];
                let lines =
                    events.map(|(event, pod)| format!("{{\"type\": \"{event}\", \"object\": {pod}}}\n"));
                // Both in one piece, as after a moment in which this process did not read.
                (200, lines.concat())
            }
            _ => std::future::pending().await,
        };
        let left = |left: usize| left.checked_sub(1);
        if is_metadata && self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
            code = 500;
        }
        Response::builder().status(code).body(Body::from(body.into_bytes())).unwrap()
    }
}

/// A machine with a kubelet that follows the Pods of a server.
struct Machine {
    folder: TempDir,
    kubelet: Kubelet,
    manager: Manager,
}

impl Machine {
    fn new(server: &Arc<Server>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::simulated(machinery::clock::parse_rfc3339("2026-01-01T00:00:00Z").unwrap());
        let server = server.clone();
        let service = tower::service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        let manager = Manager::new(ManagerOptions {
            client: Client::new(service, "default"),
            clock: clock.clone(),
            random: Random::seeded(1),
            network: Arc::new(SimulatedNetwork::new()),
            metrics: Default::default(),
            settings: Settings::default(),
        });
        let networks = Networks::new(pod_network::Options {
            api: "127.0.0.1:1".parse().unwrap(),
            resolv_conf: "/etc/resolv.conf".into(),
            program: Program::default(),
            clock: clock.clone(),
        });
        let options = Options {
            folder: folder.path().to_owned(),
            sources: Sources::default(),
            registries: Arc::new(Registries::new(RegistryClient::new(Hosts::default(), clock))),
            isolation: Isolation::None,
            networks,
            api: ("127.0.0.1".to_owned(), 1),
            authority: String::new(),
            node: NODE.to_owned(),
            proxies: ProxyVariables::default(),
        };
        Self { kubelet: Kubelet::new(options).unwrap(), folder, manager }
    }

    /// Makes the folder of a Pod, with a Secret.
    fn keep_secret(&self, uid: &str) -> std::path::PathBuf {
        let folder = self.folder.path().join("pods").join(uid);
        fs::create_dir_all(folder.join("volumes/own")).unwrap();
        fs::write(folder.join("volumes/own/key"), "secret").unwrap();
        folder
    }

    async fn until(&self, what: &str, done: impl Fn() -> bool) {
        let deadline = self.manager.clock().monotonic() + DEADLINE;
        while !done() {
            assert!(self.manager.clock().monotonic() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn runs(&self, uid: &str) -> bool {
        self.kubelet.reach(uid, 1).is_some()
    }
}

fn is_gone(folder: &Path) -> bool {
    !folder.exists()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_replaced_at_once_leaves_no_folder() {
    let server = Arc::new(Server { pod: "first", ..Server::default() });
    let machine = Machine::new(&server);
    machine.kubelet.start(&machine.manager);
    // From here on, nothing is removed because it was there when the server started.
    server.listed.notified().await;
    machine.until("the Pod runs", || machine.runs("first")).await;
    let folder = machine.keep_secret("first");
    server.replace.notify_one();
    machine.until("the other Pod runs", || machine.runs("second")).await;
    machine.until("the Secret is removed", || is_gone(&folder)).await;
    machine.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn folders_of_deleted_pods_are_removed_when_there_is_no_pod_and_after_an_error() {
    for failures in [0, 1, 3] {
        let server = Arc::new(Server { failures: AtomicUsize::new(failures), ..Server::default() });
        let machine = Machine::new(&server);
        let folder = machine.keep_secret("gone");
        machine.kubelet.start(&machine.manager);
        machine.until("the Secret is removed", || is_gone(&folder)).await;
        machine.manager.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_folder_of_a_pod_that_exists_stays_at_a_start() {
    let server = Arc::new(Server { pod: "first", ..Server::default() });
    let machine = Machine::new(&server);
    let (kept, gone) = (machine.keep_secret("first"), machine.keep_secret("gone"));
    machine.kubelet.start(&machine.manager);
    machine.until("the other Secret is removed", || is_gone(&gone)).await;
    assert!(kept.join("volumes/own/key").exists());
    machine.manager.stop().await;
}
