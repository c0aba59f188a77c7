//! The Pods of providers, which run as processes of this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use container_images::{Client, Hosts, Registries, Sources};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use http::Response;
use kubelet::{Kubelet, Options, ProxyVariables, logs};
use machinery::clock::{Clock, parse_rfc3339};
use machinery::random::Random;
use machinery::status::Status;
use net::{BoxStream as BoxedStream, Dial, Listener, Network, RealNetwork};
use pod_network::Networks;
use pod_network::helper::Program;
use pod_processes::Isolation;
use portforward::{Connector, PortForward, Ports};
use serde_json::Value;
use serving::node::{LogOptions, Node};
use serving::{Body, Connect, ConnectRequest};

use crate::certificates::reachable;
use crate::data_directory::DataDirectory;
use crate::options::{ContainerIsolation, ServerOptions};
use crate::plane::Dependencies;

/// The name of this machine as a Node.
const NODE: &str = "firstlight";
/// The networks of the addresses of Pods and Services.
const NETWORKS_OF_PODS: &str = "198.18.0.0/15";

/// Returns the kubelet of this machine.
///
/// # Errors
/// Its folder in the data directory cannot be used.
pub(crate) async fn kubelet(
    directory: &DataDirectory,
    options: &ServerOptions,
    address: SocketAddr,
    networks: Networks,
    authority: &str,
    clock: &Clock,
) -> Result<Kubelet> {
    let folder = directory.path().join("pods");
    let isolation = match options.container_isolation {
        ContainerIsolation::Auto => Isolation::detect(&folder).await,
        ContainerIsolation::Root => Isolation::Root,
        ContainerIsolation::User => Isolation::detect_user(&folder).await,
        ContainerIsolation::None => Isolation::None,
    };
    tracing::debug!(?isolation, "processes of Pods");
    let options = Options {
        folder,
        sources: Sources::new(options.container_images.clone()),
        registries: Arc::new(Registries::new(Client::new(
            Hosts::new(options.registry_hosts.clone()),
            clock.clone(),
        ))),
        isolation,
        networks,
        api: ("127.0.0.1".to_owned(), address.port()),
        authority: authority.to_owned(),
        node: NODE.to_owned(),
        proxies: proxies(address),
    };
    Kubelet::new(options)
}

/// Returns the variables by which Pods reach other machines through the proxies of this process's environment, and this machine and each
/// other without.
fn proxies(address: SocketAddr) -> ProxyVariables {
    let get = |name: &str| std::env::var(name).ok();
    let server = address.ip().to_string();
    let own = [
        "localhost",
        "127.0.0.0/8",
        "::1",
        NETWORKS_OF_PODS,
        ".svc",
        ".cluster.local",
        "kubernetes.default",
        &server,
    ];
    let own_network = net::for_pods(get, &own, false);
    let host_network = net::for_pods(get, &own, true);
    if own_network.len() < host_network.len() {
        tracing::warn!(
            "a proxy on the loopback of this machine is not given to Pods, which do not reach that"
        );
    }
    ProxyVariables { own_network, host_network }
}

/// Returns the dependencies of a server that listens on this address, and the networks of its Pods, which its network reaches, too.
pub(crate) fn dependencies(address: SocketAddr) -> (Dependencies, Networks) {
    let clock = Clock::system();
    let networks = Networks::new(pod_network::Options {
        api: reachable(address),
        resolv_conf: "/etc/resolv.conf".into(),
        program: Program::default(),
        clock: clock.clone(),
    });
    let network = Arc::new(ServerNetwork(networks.clone()));
    (Dependencies { clock, random: Random::system(), network }, networks)
}

/// The network of this machine and those of its Pods: the only access of the server to webhooks, Services and Pods.
struct ServerNetwork(Networks);

impl Dial for ServerNetwork {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxedStream>> {
        async move {
            match self.0.dial(host, port).await {
                Some(dialed) => Ok(Box::new(dialed?) as BoxedStream),
                None => RealNetwork.dial(host, port).await,
            }
        }
        .boxed()
    }
}

impl Network for ServerNetwork {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        RealNetwork.listen(host, port)
    }
}

/// This machine as a Node, for logs and requests to Pods.
pub(crate) struct Machine {
    kubelet: Kubelet,
    network: Arc<dyn Network>,
    clock: Clock,
    port_forward: PortForward<Reached>,
}

impl Machine {
    pub(crate) fn new(kubelet: Kubelet, dependencies: &Dependencies) -> Self {
        let network = dependencies.network.clone();
        let reached = Reached { kubelet: kubelet.clone(), network: network.clone() };
        let port_forward = PortForward::new(Arc::new(reached));
        Self { kubelet, network, clock: dependencies.clock.clone(), port_forward }
    }
}

impl Node for Machine {
    fn name(&self) -> &str {
        NODE
    }

    fn log(&self, pod: &Value, options: LogOptions) -> Result<BoxStream<'static, Bytes>, Status> {
        let since = options.since_seconds.and_then(|seconds| i64::try_from(seconds).ok());
        let since = since.map(|seconds| self.clock.now() - chrono::TimeDelta::seconds(seconds));
        let named = options.since_time.as_deref().and_then(parse_rfc3339);
        let number = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
        let wanted = logs::Options {
            tail: number(options.tail),
            since: since.or_else(|| named.map(|time| time.to_utc())),
            limit: number(options.limit),
            timestamps: options.timestamps,
        };
        let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
        let log = self.kubelet.log(uid, &options.container, options.previous);
        let log = log.ok_or_else(|| {
            let (container, pod) = (&options.container, pod["metadata"]["name"].as_str().unwrap_or_default());
            let which = if options.previous { "previous terminated container" } else { "container" };
            Status::bad_request(format!("{which} {container:?} in pod {pod:?} not found"))
        })?;
        Ok(logs::stream(log, wanted, options.follow).boxed())
    }

    fn dial<'a>(&'a self, pod: &'a Value, port: u16) -> BoxFuture<'a, io::Result<BoxedStream>> {
        async move {
            // Not the address in the status, which others may write.
            let reach = self.kubelet.reach(pod["metadata"]["uid"].as_str().unwrap_or_default(), port);
            let (address, port) = reach.ok_or(io::ErrorKind::HostUnreachable)?;
            self.network.dial(&address, port).await
        }
        .boxed()
    }

    fn port_forward(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        self.port_forward.connect(request)
    }
}

/// The ports of this machine's Pods.
struct Reached {
    kubelet: Kubelet,
    network: Arc<dyn Network>,
}

impl Ports for Reached {
    fn listener(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> BoxFuture<'static, Result<Connector, String>> {
        let reach = self.kubelet.reach_named(namespace, pod, port);
        let network = self.network.clone();
        async move {
            let (address, port) = reach.ok_or("the Pod has no address yet")?;
            let dialed = network.dial(&address, port).await;
            let mut listener = dialed.map_err(|error| format!("dial tcp {address}:{port}: {error}"))?;
            Ok(Box::new(move |mut client: BoxedStream| {
                // It ends with either side.
                drop(tokio::spawn(async move {
                    tokio::io::copy_bidirectional(&mut client, &mut listener).await.ok();
                }));
            }) as Connector)
        }
        .boxed()
    }
}
