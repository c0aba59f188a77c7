//! A workload cluster: its own API server over the `memory` engine, and the parts of the machines in it.

pub mod api;
pub mod budget;
mod controllers;
pub mod etcd;
pub mod eviction;
pub mod kinds;
pub mod objects;
pub mod part;
pub mod state;
pub mod symptoms;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::{Rbac, Tokens};
use chrono::{DateTime, Utc};
use engine::{NamespacedName, Objects};
use futures::FutureExt;
use futures::future::{self, BoxFuture};
use k8s_openapi::api::core::v1::Secret;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use net::BoxStream;
use parking_lot::Mutex;
use pki::tls::{ALPN_HTTP, ALPN_HTTP2, ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, Leaf, TokenKeys, Usage};
use portforward::{Connector, PortForward, Ports};
use registry::{Housekeeping, Registry};
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use serving::Tls;
use serving::{Listener, Server, VersionInfo};
use store::Store;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::api::{Api, Place};
use self::controllers::Controllers;
use self::etcd::Etcd;
use self::eviction::Eviction;
use self::objects::Host;
use self::part::Part;
use self::state::Rows;
use crate::names::{ETCD_CLUSTER_ID, ETCD_MEMBER_REMOVED, KUBE_SYSTEM};

/// The static Pods of a control plane that start together with its API server.
const CONTROL_PLANE_PODS: [&str; 3] = ["kube-apiserver", "kube-scheduler", "kube-controller-manager"];
const ETCD_PORT: u16 = 2379;
const API_PORT: u16 = 6443;

/// The errors of a workload cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster's API refused a request.
    #[error("the workload cluster's API: {0}")]
    Api(#[from] Status),
    /// A certificate could not be created or used.
    #[error("certificates: {0}")]
    Certificates(#[from] pki::Error),
    /// The API server could not be started.
    #[error("cannot start the workload cluster's API server: {0}")]
    Start(String),
}

/// The certificate authorities of a cluster.
pub struct Authorities {
    /// The authority in Secret `<cluster>-ca`.
    pub cluster: CertificateAuthority,
    /// The authority in Secret `<cluster>-etcd`; `None` if etcd runs elsewhere, where its key is kept.
    pub etcd: Option<CertificateAuthority>,
}

impl Authorities {
    /// Reads the authorities of a Cluster from its Secrets.
    ///
    /// # Errors
    /// A Secret is missing, or holds no authority.
    pub fn of_secrets(secrets: &Objects<Secret>, cluster: &NamespacedName) -> engine::Result<Self> {
        let read = |purpose: &str| {
            let key = NamespacedName::new(cluster.namespace.clone(), format!("{}-{purpose}", cluster.name));
            let secret = secrets
                .get(&key)
                .ok_or_else(|| engine::Error::failed(format!("there is no Secret {key}")))?;
            let text = |name: &str| {
                let found = secret.data.as_ref().and_then(|data| data.get(name));
                found.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
            };
            Ok((key, text("tls.crt"), text("tls.key")))
        };
        let authority = |(key, certificate, private): (NamespacedName, String, String)| {
            CertificateAuthority::from_pem(&certificate, &private).map_err(|error| {
                engine::Error::failed(format!("Secret {key} holds no certificate authority: {error}"))
            })
        };
        let etcd = Some(read("etcd")?).filter(|(_, _, private)| !private.is_empty());
        Ok(Self { cluster: authority(read("ca")?)?, etcd: etcd.map(authority).transpose()? })
    }
}

/// Keeps no TLS sessions: there are many clusters with few clients each, whose connections last.
fn without_sessions(mut config: ServerConfig) -> ServerConfig {
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config
}

fn api_server_pod(host: &str) -> String {
    format!("kube-apiserver-{host}")
}

/// One workload cluster.
pub struct Workload {
    rows: Rows,
    api: Api,
    controllers: Controllers,
    listener: Mutex<Option<Listener>>,
    server: Server,
    hosts: Mutex<BTreeMap<String, BTreeSet<Part>>>,
    pods: Arc<Pods>,
    clock: Clock,
    random: Random,
    open: Mutex<Option<CancellationToken>>,
    /// Whether the API server accepts connections and never answers.
    is_silent: AtomicBool,
    silence_changed: Notify,
}

/// The servers inside the Pods, reached by port-forwards.
struct Pods {
    etcd: Etcd,
    members: Mutex<BTreeMap<String, Arc<ServerConfig>>>,
    api_servers: Mutex<BTreeMap<String, Listener>>,
}

impl Ports for Pods {
    fn listener(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> BoxFuture<'static, Result<Connector, String>> {
        future::ready(self.connector(namespace, pod, port)).boxed()
    }
}

impl Pods {
    fn connector(&self, namespace: &str, pod: &str, port: u16) -> Result<Connector, String> {
        let refused = || format!("dial tcp {namespace}/{pod}:{port}: connection refused");
        if namespace != KUBE_SYSTEM {
            return Err(refused());
        }
        let member = self.members.lock().get(pod).cloned();
        match (member, port) {
            (Some(config), ETCD_PORT) => {
                let (etcd, pod) = (self.etcd.clone(), pod.to_owned());
                Ok(Box::new(|stream| drop(tokio::spawn(etcd.serve(pod, config, stream)))))
            }
            (None, API_PORT) => {
                let listener = self.api_servers.lock().get(pod).cloned().ok_or_else(refused)?;
                Ok(Box::new(|stream| {
                    drop(tokio::spawn(async move { listener.serve_stream(stream).await }));
                }))
            }
            _ => Err(refused()),
        }
    }
}

impl Workload {
    /// Creates a cluster with the objects in `rows`; without rows it has namespaces and no Nodes. Its API
    /// server is not reachable yet. Only its administrators may use it.
    ///
    /// # Errors
    /// [`Error::Start`].
    pub async fn new(clock: &Clock, random: &Random, rows: Rows) -> Result<Arc<Self>, Error> {
        Self::with_keys(clock, random, rows, None).await
    }

    /// Like [`Workload::new`]. With `keys`, clients may also use tokens, and roles say what they may do.
    ///
    /// # Errors
    /// [`Error::Start`].
    pub async fn with_keys(
        clock: &Clock,
        random: &Random,
        rows: Rows,
        keys: Option<TokenKeys>,
    ) -> Result<Arc<Self>, Error> {
        let store = Store::open(rows.clone(), clock.clone()).await;
        let store = store.map_err(|error| Error::Start(error.to_string()))?;
        let options = registry::Options {
            kinds: Some(kinds::all().map_err(|error| Error::Start(error.to_string()))?),
            // Every client that can connect is an administrator, so no roles are needed.
            housekeeping: Housekeeping {
                service_accounts: false,
                roles: false,
                role_aggregation: false,
                ..Housekeeping::default()
            },
            admission: vec![Arc::new(rows.clone())],
            ..registry::Options::default()
        };
        let registry = Registry::open(store.clone(), clock.clone(), random.clone(), options)
            .await
            .map_err(|error| Error::Start(error.to_string()))?;
        let api = Api::new(registry.clone());
        let controllers = Controllers::start(store.clone(), api.clone(), clock.clone(), random.clone());
        let etcd = Etcd::new(api.clone(), clock.clone());
        let pods = Arc::new(Pods { etcd, members: Mutex::default(), api_servers: Mutex::default() });
        let mut server = Server::builder(registry, clock.clone())
            .version(VersionInfo::default())
            .connect(portforward::RESOURCE, PortForward::new(pods.clone()))
            .connect(eviction::RESOURCE, Eviction { api: api.clone(), clock: clock.clone() });
        if let Some(keys) = keys {
            let tokens = Tokens::new(store.clone(), clock.clone(), random.clone(), keys);
            server = server.tokens(tokens).authorizer(Rbac::new(store));
        }
        let server = server.build();
        Ok(Arc::new(Self {
            rows,
            api,
            controllers,
            listener: Mutex::default(),
            server,
            hosts: Mutex::default(),
            pods,
            clock: clock.clone(),
            random: random.clone(),
            open: Mutex::default(),
            is_silent: AtomicBool::new(false),
            silence_changed: Notify::new(),
        }))
    }

    /// Returns the cluster's stored objects, whose writes can be blocked.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Starts a part of a machine, unless it already runs.
    ///
    /// # Errors
    /// Returns the errors of the API and of certificates.
    pub async fn start(&self, host: &Host, part: Part, authorities: &Authorities) -> Result<(), Error> {
        if self.runs(&host.name, part) {
            return Ok(());
        }
        let now = self.clock.now();
        match part {
            Part::Vm => {}
            Part::Node => self.api.ensure(objects::node(host, now)).await?,
            Part::Etcd => {
                if let Some(authority) = &authorities.etcd {
                    self.start_etcd(host, authority, now).await?;
                }
            }
            Part::ApiServer => self.start_api_server(host, &authorities.cluster, now).await?,
        }
        self.settled().await;
        self.hosts.lock().entry(host.name.clone()).or_default().insert(part);
        Ok(())
    }

    /// Creates an object in the cluster, unless it exists.
    ///
    /// # Errors
    /// Returns the refusal of the cluster's API.
    pub async fn ensure(&self, object: serde_json::Value) -> Result<(), Error> {
        Ok(self.api.ensure(object).await?)
    }

    /// Waits until everything has followed from what was written so far: Deployments have their Pods, and these their Nodes.
    pub async fn settled(&self) {
        self.controllers.settled().await;
    }

    /// Returns whether a part of a machine runs.
    pub fn runs(&self, host: &str, part: Part) -> bool {
        self.hosts.lock().get(host).is_some_and(|parts| parts.contains(&part))
    }

    async fn start_etcd(
        &self,
        host: &Host,
        authority: &CertificateAuthority,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let pod_name = format!("etcd-{}", host.name);
        let names = vec![host.name.clone(), "localhost".into(), "127.0.0.1".into()];
        let leaf = Leaf { usage: Usage::ClientAndServer, ..Leaf::server(host.name.clone(), names) };
        let identity = authority.issue(&leaf, now, &self.random)?;
        let clients = ClientCertificates::Required(authority.certificate().to_owned());
        let certificates = Arc::new(ServerCertificates::new(&identity)?);
        let config = server_config(certificates, &clients, ALPN_HTTP2, &self.clock)?;
        let config = Arc::new(without_sessions(config));
        let configuration = self.api.get(Place::KUBEADM_CONFIG).await.unwrap_or_default();
        let mut pod = objects::static_pod(host, "etcd", &objects::etcd_image(&configuration), now);
        match self.api.list(Place::pod(KUBE_SYSTEM, ""), "component=etcd").await?.first() {
            None => objects::lead_from(&mut pod, now),
            // The Cluster may have got another UID since its etcd was started, for example by a move.
            Some(member) => {
                pod["metadata"]["annotations"][ETCD_CLUSTER_ID] =
                    member["metadata"]["annotations"][ETCD_CLUSTER_ID].clone();
            }
        }
        self.api.ensure(pod).await?;
        self.pods.members.lock().insert(pod_name, config);
        Ok(())
    }

    async fn start_api_server(
        &self,
        host: &Host,
        authority: &CertificateAuthority,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let pod = api_server_pod(&host.name);
        if !self.pods.api_servers.lock().contains_key(&pod) {
            let names = [
                "localhost",
                "127.0.0.1",
                "::1",
                "0.0.0.0",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
            ];
            let names = names.iter().copied().chain(host.addresses.iter().map(String::as_str));
            let leaf = Leaf::server("kube-apiserver", names.map(str::to_owned).collect());
            let identity = authority.issue(&leaf, now, &self.random)?;
            let clients = ClientCertificates::Optional(authority.certificate().to_owned());
            let certificates = Arc::new(ServerCertificates::new(&identity)?);
            let config = server_config(certificates, &clients, ALPN_HTTP, &self.clock)?;
            let listener = Listener::new(self.server.clone(), Some(Tls::new(without_sessions(config))));
            self.pods.api_servers.lock().insert(pod, listener.clone());
            // The endpoint of the cluster leads to the newest API server, whose certificate is valid for longest.
            *self.listener.lock() = Some(listener);
        }
        for component in CONTROL_PLANE_PODS {
            let image = objects::image(component, &host.version);
            self.api.ensure(objects::static_pod(host, component, &image, now)).await?;
        }
        for object in objects::kubeadm_objects(&host.version) {
            self.api.ensure(object).await?;
        }
        if let Some(endpoint) = &host.endpoint {
            self.api.ensure(objects::cluster_info(endpoint, authority.certificate())).await?;
        }
        Ok(())
    }

    fn stop_api_server(&self, name: &str) {
        let mut running = self.pods.api_servers.lock();
        if running.remove(&api_server_pod(name)).is_some() {
            *self.listener.lock() = running.values().next().cloned();
        }
    }

    /// Stops all parts of a machine.
    ///
    /// # Errors
    /// Returns the errors of the API.
    pub async fn stop(&self, name: &str) -> Result<(), Error> {
        self.show_volume(name, false).await?;
        self.api.delete(Place::node(name)).await?;
        let etcd = format!("etcd-{name}");
        if self.api.get(Place::pod(KUBE_SYSTEM, &etcd)).await.is_some() {
            // A call that already read the list of members must see that this member is gone.
            let removed = serde_json::json!({"metadata": {"annotations": {ETCD_MEMBER_REMOVED: ""}}});
            self.api.merge(Place::pod(KUBE_SYSTEM, &etcd), removed).await?;
            self.api.delete(Place::pod(KUBE_SYSTEM, &etcd)).await?;
        }
        self.pods.members.lock().remove(&etcd);
        self.stop_api_server(name);
        for component in CONTROL_PLANE_PODS {
            self.api.delete(Place::pod(KUBE_SYSTEM, &format!("{component}-{name}"))).await?;
        }
        self.settled().await;
        let last = {
            let mut hosts = self.hosts.lock();
            hosts.remove(name);
            !hosts.values().any(|parts| parts.contains(&Part::ApiServer))
        };
        if last {
            self.close();
        }
        Ok(())
    }

    /// Opens the cluster to clients once an API server runs and every machine of `expected` (those with a
    /// provisioned Node) has its Node. After a restart of this process, clients therefore never see an
    /// incomplete cluster.
    pub fn open_when_complete(&self, expected: &BTreeSet<String>) {
        let complete = {
            let hosts = self.hosts.lock();
            let has_node = |name: &String| hosts.get(name).is_some_and(|parts| parts.contains(&Part::Node));
            hosts.values().any(|parts| parts.contains(&Part::ApiServer)) && expected.iter().all(has_node)
        };
        let mut open = self.open.lock();
        if complete && open.is_none() {
            *open = Some(CancellationToken::new());
        }
    }

    /// Returns whether clients reach an API server of the cluster.
    pub fn is_open(&self) -> bool {
        self.open.lock().is_some() && self.listener.lock().is_some()
    }

    /// Closes the cluster to clients and ends the present connections.
    pub fn close(&self) {
        if let Some(token) = self.open.lock().take() {
            token.cancel();
        }
        *self.listener.lock() = None;
        self.pods.api_servers.lock().clear();
    }

    /// Makes the API server silent: present and new connections stay open, and nothing is answered until it is `false` again.
    pub fn set_silent(&self, silent: bool) {
        self.is_silent.store(silent, Ordering::Relaxed);
        self.silence_changed.notify_waiters();
    }

    /// Serves one connection; a cluster that is not open refuses it.
    pub async fn serve(&self, stream: BoxStream) {
        let token = self.open.lock().clone();
        let listener = self.listener.lock().clone();
        let (Some(token), Some(listener)) = (token, listener) else { return };
        let mut serving = pin!(listener.serve_stream(stream));
        loop {
            let silence_changed = self.silence_changed.notified();
            let is_silent = self.is_silent.load(Ordering::Relaxed);
            tokio::select! {
                biased;
                () = token.cancelled() => return,
                () = silence_changed => {}
                () = &mut serving, if !is_silent => return,
            }
        }
    }
}
