//! Tests of a workload cluster from its clients' point of view: over a (simulated) network, TLS, HTTP, and a
//! port-forward to etcd.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

mod budget;
mod controllers;
mod failures;
mod jobs;
mod members;
mod objects;
mod portforward;
mod spdy;
mod state;
mod symptoms;
mod updates;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::DateTime;
use engine::etcd;
use engine::testing::WorkloadClients;
use futures::StreamExt;
use futures::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, EvictParams, ListParams, PostParams, WatchParams};
use machinery::clock::Clock;
use machinery::random::Random;
use net::{BoxStream, Dial, Listener, Network, SimulatedNetwork};
use pki::kubeconfig::Kubeconfig;
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use rustls::pki_types::ServerName;
use simulated::workload::objects::Host;
use simulated::workload::part::Part;
use simulated::workload::state::Rows;
use simulated::workload::{Authorities, Workload};
use tokio::io::{AsyncRead, AsyncWrite};

struct Cluster {
    workload: Arc<Workload>,
    authorities: Authorities,
    network: Arc<dyn Network>,
    clock: Clock,
    random: Random,
}

const PORT: u16 = 20_000;

async fn cluster() -> Cluster {
    let clock = Clock::simulated(DateTime::from_timestamp(1_800_000_000, 0).expect("a time"));
    let random = Random::seeded(1);
    let network: Arc<dyn Network> = Arc::new(SimulatedNetwork::new());
    let workload = Workload::new(&clock, &random, Rows::default()).await.expect("a workload cluster");
    let authority = |name| {
        CertificateAuthority::generate(name, KeyAlgorithm::default(), None, clock.now(), &random)
            .expect("an authority")
    };
    let authorities = Authorities { cluster: authority("kubernetes"), etcd: Some(authority("etcd")) };
    let mut listener = network.listen("127.0.0.1", PORT).await.expect("a listener");
    let serving = workload.clone();
    drop(tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serving = serving.clone();
            drop(tokio::spawn(async move { serving.serve(stream).await }));
        }
    }));
    Cluster { workload, authorities, network, clock, random }
}

/// Counts the connections that are opened.
struct Counting {
    network: Arc<dyn Network>,
    dialed: Arc<AtomicUsize>,
}

impl Dial for Counting {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        self.dialed.fetch_add(1, Ordering::Relaxed);
        self.network.dial(host, port)
    }
}

impl Network for Counting {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        self.network.listen(host, port)
    }
}

#[tokio::test]
async fn watches_of_one_client_share_a_connection() {
    let mut cluster = cluster().await;
    cluster.start("a", 1).await;
    let dialed = Arc::<AtomicUsize>::default();
    cluster.network = Arc::new(Counting { network: cluster.network.clone(), dialed: dialed.clone() });
    let clients = cluster.clients();
    for (client, connections) in [(&clients.shared, 1), (&clients.dedicated, 3)] {
        dialed.store(0, Ordering::Relaxed);
        let nodes = Api::<Node>::all(client.clone());
        let mut watches = Vec::new();
        for _ in 0..3 {
            let mut watch = nodes.watch(&WatchParams::default(), "0").await.expect("a watch").boxed();
            watch.next().await.expect("an event").expect("no error");
            watches.push(watch);
        }
        assert_eq!(dialed.load(Ordering::Relaxed), connections);
    }
}

impl Cluster {
    async fn start(&self, name: &str, member_id: u64) {
        let host = Host {
            name: name.into(),
            version: "v1.35.0".into(),
            control_plane: true,
            member_id,
            cluster_id: 9,
            provider_id: Some(simulated::workload::objects::provider_id(name)),
            endpoint: Some(format!("https://127.0.0.1:{PORT}")),
            labels: Default::default(),
            addresses: Vec::new(),
        };
        for part in [Part::Vm, Part::Node, Part::Etcd, Part::ApiServer] {
            self.workload.start(&host, part, &self.authorities).await.expect("the part starts");
        }
        self.workload.open_when_complete(&BTreeSet::from([name.to_owned()]));
    }

    fn etcd(&self) -> &CertificateAuthority {
        self.authorities.etcd.as_ref().expect("etcd runs here")
    }

    fn client(&self) -> kube::Client {
        self.clients().dedicated
    }

    fn clients(&self) -> WorkloadClients {
        let leaf = Leaf::client("kubernetes-admin", &["system:masters"]);
        let identity =
            self.authorities.cluster.issue(&leaf, self.clock.now(), &self.random).expect("a certificate");
        let server = format!("https://127.0.0.1:{PORT}");
        let authority = self.authorities.cluster.certificate();
        let kubeconfig = Kubeconfig::for_cluster("c", &server, authority, identity).to_yaml().expect("YAML");
        let clients = WorkloadClients::new(&self.network, &self.clock, kubeconfig.as_bytes());
        clients.expect("the kubeconfig is valid")
    }

    /// Calls the etcd member in `pod` once, through a port-forward, TLS and gRPC.
    async fn call<R: prost::Message + Default>(
        &self,
        pod: &str,
        path: &str,
        request: &impl prost::Message,
    ) -> R {
        let pods: Api<Pod> = Api::namespaced(self.client(), "kube-system");
        let mut forwarder = pods.portforward(pod, &[2379]).await.expect("a port-forward");
        let stream = forwarder.take_stream(2379).expect("the port's stream");
        self.call_over(stream, pod, path, request).await
    }

    /// Calls the etcd member in `pod` once, over a connection to it.
    async fn call_over<R: prost::Message + Default>(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        pod: &str,
        path: &str,
        request: &impl prost::Message,
    ) -> R {
        let leaf = Leaf::client("cluster-api.x-k8s.io", &[]);
        let identity = self.etcd().issue(&leaf, self.clock.now(), &self.random).expect("a certificate");
        let authority = self.etcd().certificate();
        let tls = pki::tls::client_config(authority, Some(&identity), pki::tls::ALPN_HTTP2, &self.clock)
            .expect("TLS");
        let host = pod.strip_prefix("etcd-").unwrap_or(pod).to_owned();
        let name = ServerName::try_from(host).expect("a server name");
        let stream =
            tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, stream).await.expect("a handshake");
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("HTTP/2");
        drop(tokio::spawn(connection));
        let request = http::Request::post(format!("http://etcd{path}"))
            .header(http::header::CONTENT_TYPE, etcd::CONTENT_TYPE)
            .body(Full::<Bytes>::new(etcd::frame(request)))
            .expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let body = response.into_body().collect().await.expect("a body");
        let status = body.trailers().and_then(|trailers| trailers.get(etcd::GRPC_STATUS)).cloned();
        assert_eq!(status.expect("a status"), "0");
        etcd::unframe(&body.to_bytes()).expect("a message")
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_and_pods_are_there_and_can_be_evicted() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    let node = nodes.get("a").await.expect("the node");
    assert_eq!(node.spec.expect("a spec").provider_id.as_deref(), Some("in-memory://a"));
    assert_eq!(node.status.expect("a status").node_info.expect("info").kubelet_version, "v1.35.0");
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "kube-system");
    let on_node = ListParams::default().fields("spec.nodeName=a");
    let found = pods.list(&on_node).await.expect("pods").items;
    let names = found.into_iter().filter_map(|pod| pod.metadata.name);
    let mut names: Vec<String> = names.collect();
    assert_eq!(names.extract_if(.., |name| name.starts_with("coredns-")).count(), 2);
    let expected =
        ["etcd-a", "kube-apiserver-a", "kube-controller-manager-a", "kube-proxy-a", "kube-scheduler-a"];
    assert_eq!(names, expected);
    pods.evict("kube-scheduler-a", &EvictParams::default()).await.expect("an eviction");
    assert!(pods.get_opt("kube-scheduler-a").await.expect("an answer").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_the_machines_refuse_is_pending_and_those_of_the_machine_run() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "default");
    let spec =
        serde_json::json!({"metadata": {"name": "x"}, "spec": {"containers": [{"name": "x", "image": "x"}]}});
    let pod = serde_json::from_value(spec).expect("a Pod");
    pods.create(&PostParams::default(), &pod).await.expect("a Pod");
    let phase = |pod: Pod| pod.status.and_then(|status| status.phase);
    assert_eq!(phase(pods.get("x").await.expect("the Pod")).as_deref(), Some("Pending"));
    let pending = ListParams::default().fields("status.phase=Pending");
    assert_eq!(pods.list(&pending).await.expect("a list").items.len(), 1);
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "kube-system");
    let phases = pods.list(&ListParams::default()).await.expect("a list").items.into_iter().map(phase);
    let phases: Vec<_> = phases.collect();
    assert!(phases.iter().all(|phase| phase.as_deref() == Some("Running")), "{phases:?}");
}

/// `kubectl taint` sends all taints that are to stay; a client that sets a condition sends this one.
#[tokio::test(start_paused = true)]
async fn a_strategic_patch_replaces_taints_and_merges_conditions() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    let patch = |value| kube::api::Patch::Strategic(value);
    let taint = |key: &str| serde_json::json!({"key": key, "effect": "NoSchedule"});
    for taints in [serde_json::json!([taint("x"), taint("y")]), serde_json::json!([taint("y")])] {
        let spec = serde_json::json!({"spec": {"taints": taints}});
        nodes.patch("a", &Default::default(), &patch(spec)).await.expect("a patch");
    }
    let disk = serde_json::json!({"status": {"conditions": [{"type": "Disk", "status": "False"}]}});
    let node = nodes.patch_status("a", &Default::default(), &patch(disk)).await.expect("a patch");
    let taints = node.spec.and_then(|spec| spec.taints).expect("taints");
    assert_eq!(taints.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>(), ["y"]);
    assert!(node.status.and_then(|status| status.conditions).expect("conditions").len() > 1);
}

#[tokio::test(start_paused = true)]
async fn etcd_is_reached_through_a_port_forward() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    cluster.start("b", 2).await;
    let list: etcd::MemberListResponse =
        cluster.call("etcd-a", etcd::MEMBER_LIST, &etcd::MemberListRequest::default()).await;
    let names: Vec<&str> = list.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let status: etcd::StatusResponse =
        cluster.call("etcd-b", etcd::STATUS, &etcd::StatusRequest::default()).await;
    assert_eq!(status.leader, 1, "the first member leads");
    let _: etcd::MoveLeaderResponse =
        cluster.call("etcd-a", etcd::MOVE_LEADER, &etcd::MoveLeaderRequest { target_id: 2 }).await;
    let status: etcd::StatusResponse =
        cluster.call("etcd-b", etcd::STATUS, &etcd::StatusRequest::default()).await;
    assert_eq!(status.leader, 2);
    let left: etcd::MemberRemoveResponse =
        cluster.call("etcd-b", etcd::MEMBER_REMOVE, &etcd::MemberRemoveRequest { id: 1 }).await;
    assert_eq!(left.members.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_api_server_takes_the_cluster_with_it() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    assert!(nodes.get_opt("a").await.expect("an answer").is_some());
    cluster.workload.stop("a").await.expect("the machine stops");
    assert!(nodes.list(&ListParams::default()).await.is_err(), "nobody answers any more");
}
