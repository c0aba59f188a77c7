//! A workload cluster: an API server that is reached over a simulated network, and that can fall silent.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

use std::cell::RefCell;
use std::sync::Arc;

use access::User;
use engine::Manager;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use pki::kubeconfig::Kubeconfig;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use registry::Registry;
use serde_json::{Value, json};
use serving::{Listener, Server, Tls};
use store::{Memory, Store};
use tokio::sync::watch;

const HOST: &str = "127.0.0.1";
const FIRST_PORT: u16 = 7000;

thread_local! {
    /// The workload clusters of the test that this thread runs. They survive the controllers, whose network is a new one in each life.
    static ALL: RefCell<Vec<Listening>> = const { RefCell::new(Vec::new()) };
}

/// What a workload cluster needs to listen.
#[derive(Clone)]
struct Listening {
    port: u16,
    listener: Listener,
    is_silent: watch::Sender<bool>,
}

/// A workload cluster.
pub struct Workload {
    pub kubeconfig: String,
    server: Server,
    is_silent: watch::Sender<bool>,
}

pub fn forget_all() {
    ALL.with_borrow_mut(Vec::clear);
}

/// Lets all workload clusters listen on the network of a new life of the controllers.
pub fn listen_again(manager: &Manager) {
    ALL.with_borrow(|all| all.iter().for_each(|listening| listen(manager, listening)));
}

fn listen(manager: &Manager, listening: &Listening) {
    let (network, listening) = (manager.network().clone(), listening.clone());
    drop(manager.spawn(async move {
        let mut accepting = network.listen(HOST, listening.port).await.unwrap();
        while let Ok((mut stream, _)) = accepting.accept().await {
            let listening = listening.clone();
            drop(tokio::spawn(async move {
                let (mut near, far) = tokio::io::duplex(64 * 1024);
                drop(tokio::spawn(async move { listening.listener.serve_stream(far).await }));
                let mut silence = listening.is_silent.subscribe();
                tokio::select! {
                    biased;
                    _ = silence.wait_for(|is_silent| *is_silent) => {}
                    _ = tokio::io::copy_bidirectional(&mut stream, &mut near) => return,
                }
                // The connection stays open, and nothing arrives.
                let _ = silence.wait_for(|is_silent| !*is_silent).await;
            }));
        }
    }));
}

impl Workload {
    pub async fn start(manager: &Manager, name: &str) -> Self {
        let (clock, random) = (manager.clock(), manager.random());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).build();

        let (now, algorithm) = (clock.now(), KeyAlgorithm::EcdsaP256);
        let authority =
            CertificateAuthority::generate("kubernetes-ca", algorithm, None, now, random).unwrap();
        let identity =
            authority.issue(&Leaf::server("kubernetes", vec![HOST.to_owned()]), now, random).unwrap();
        let admin = authority.issue(&Leaf::client("admin", &["system:masters"]), now, random).unwrap();
        let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
        let clients = ClientCertificates::Required(authority.certificate().to_owned());
        let config = server_config(certificates, &clients, &["http/1.1"], clock).unwrap();
        let port = ALL.with_borrow(|all| FIRST_PORT + u16::try_from(all.len()).unwrap());
        let url = format!("https://{HOST}:{port}");
        let kubeconfig =
            Kubeconfig::for_cluster(name, &url, authority.certificate(), admin).to_yaml().unwrap();

        let is_silent = watch::Sender::new(false);
        let listener = Listener::new(server.clone(), Some(Tls::new(config)));
        let listening = Listening { port, listener, is_silent: is_silent.clone() };
        listen(manager, &listening);
        ALL.with_borrow_mut(|all| all.push(listening));
        Self { kubeconfig, server, is_silent }
    }

    /// Lets the cluster fall silent, or answer again.
    pub fn be_silent(&self, is_silent: bool) {
        self.is_silent.send_replace(is_silent);
    }

    fn api(&self, plural: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
        };
        let client = Client::new(self.server.client_service(User::master("kubectl")), "default");
        Api::namespaced_with(client, "default", &resource)
    }

    pub fn config_maps(&self) -> Api<DynamicObject> {
        self.api("configmaps", "ConfigMap")
    }

    /// Returns the data of a ConfigMap; null if there is none.
    pub async fn data(&self, name: &str) -> Value {
        let found = self.config_maps().get_opt(name).await.unwrap();
        found.map_or(Value::Null, |object| object.data["data"].clone())
    }

    /// Sends any request as an administrator.
    pub async fn get(&self, path: &str) -> Result<Value, kube::Error> {
        let client = Client::new(self.server.client_service(User::master("kubectl")), "default");
        client.request(http::Request::get(path).body(Vec::new()).unwrap()).await
    }

    pub async fn patch(&self, name: &str, patch: Value) {
        let patch = kube::api::Patch::Merge(patch);
        self.config_maps().patch(name, &Default::default(), &patch).await.unwrap();
    }
}

/// Returns data with the value `v`.
pub fn v(value: &str) -> Value {
    json!({"v": value})
}
