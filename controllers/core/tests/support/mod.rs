//! A management cluster and a workload cluster in this process, on a paused clock.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod eviction;
pub mod providers;

use std::sync::Arc;
use std::time::Duration;

use access::User;
use engine::{Kind, Manager, ManagerOptions, NamespacedName, Objects};
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use net::{Network, SimulatedNetwork};
use pki::kubeconfig::Kubeconfig;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use registry::{Admission, Operation, Registry, Review};
use serde_json::{Value, json};
use serving::{Listener, Server, Tls};
use store::{Memory, Store};

/// Host of the workload cluster's API server.
pub const HOST: &str = "127.0.0.1";
/// Port of the workload cluster's API server.
pub const PORT: u16 = 6443;

/// The management cluster with its controllers, connected to a workload cluster.
pub struct Fixture {
    pub manager: Manager,
    /// A client of the workload cluster.
    pub workload: Client,
}

/// Label on Machines whose creation the management cluster refuses.
pub const REFUSED: &str = "test/refused";

/// Refuses Machines with the label [`REFUSED`].
struct Refusing;

impl Admission for Refusing {
    fn mutate(&self, _: &Review<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }

    fn validate(&self, review: &Review<'_>, object: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        let is_refused = object["metadata"]["labels"].get(REFUSED).is_some();
        if is_refused && object["kind"] == "Machine" && review.operation == Operation::Create {
            return Err(Status::generic("this Machine is refused"));
        }
        Ok(())
    }
}

async fn server(clock: &Clock, random: &Random, kinds: Vec<Value>, eviction: eviction::Eviction) -> Server {
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let admission: Vec<Arc<dyn Admission>> = vec![Arc::new(Refusing)];
    let kinds = Some(registry::Kinds::with(&kinds).unwrap());
    let options = registry::Options { kinds, admission, ..registry::Options::default() };
    let registry = Registry::open(store, clock.clone(), random.clone(), options).await.unwrap();
    Server::builder(registry, clock.clone()).connect(eviction::RESOURCE, eviction).build()
}

fn client(server: &Server, name: &str) -> Client {
    Client::new(server.client_service(User::master(name)), "default")
}

/// Returns a CustomResourceDefinition without a schema for its fields.
fn any(group: &str, plural: &str, kind: &str, scope: &str) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let singular = kind.to_lowercase();
    let name = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    let selectable = if kind == "Pod" { json!([{"jsonPath": ".spec.nodeName"}]) } else { json!([]) };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
        "spec": {
            "group": group, "scope": scope,
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "selectableFields": selectable,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}],
        },
    })
}

impl Fixture {
    /// Starts both clusters, the controllers and the fake providers.
    pub async fn start(seed: u64) -> Self {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let _ =
            tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().without_time().try_init();
        let epoch = machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap();
        let (clock, random) = (Clock::simulated(epoch), Random::seeded(seed));
        let network: Arc<dyn Network> = Arc::new(SimulatedNetwork::new());
        let kinds = vec![
            any("", "nodes", "Node", "Cluster"),
            any("", "pods", "Pod", "Namespaced"),
            any("", "persistentvolumes", "PersistentVolume", "Cluster"),
            any("storage.k8s.io", "volumeattachments", "VolumeAttachment", "Cluster"),
        ];
        let eviction = eviction::Eviction::default();
        let workload = server(&clock, &random, kinds, eviction.clone()).await;
        eviction.serve(client(&workload, "eviction"));
        let kubeconfig = listen(&workload, &network, &clock, &random).await;
        let management = server(&clock, &random, Vec::new(), Default::default()).await;
        let manager = Manager::new(ManagerOptions {
            client: client(&management, "manager"),
            clock,
            random,
            network,
            metrics: Default::default(),
            settings: Default::default(),
        });
        let definitions = kube::Api::<kube::api::DynamicObject>::all_with(
            manager.client().clone(),
            &kube::core::ApiResource {
                group: "apiextensions.k8s.io".into(),
                version: "v1".into(),
                api_version: "apiextensions.k8s.io/v1".into(),
                kind: "CustomResourceDefinition".into(),
                plural: "customresourcedefinitions".into(),
            },
        );
        for manifest in schemas::crds().unwrap() {
            let object = serde_json::from_value(manifest).unwrap();
            definitions.create(&kube::api::PostParams::default(), &object).await.unwrap();
        }
        cluster_core::start(&manager);
        let workload = client(&workload, "kubelet");
        providers::start(&manager, &workload, kubeconfig);
        Self { manager, workload }
    }

    /// Creates the objects of a manifest.
    pub async fn create(&self, objects: Vec<Value>) {
        for value in objects {
            let types = kube::api::TypeMeta {
                api_version: value["apiVersion"].as_str().unwrap().into(),
                kind: value["kind"].as_str().unwrap().into(),
            };
            let (group, version) = types.api_version.split_once('/').unwrap();
            let resource = kube::core::ApiResource {
                group: group.into(),
                version: version.into(),
                api_version: types.api_version.clone(),
                kind: types.kind.clone(),
                plural: engine::contract::plural(&types.kind),
            };
            let api = kube::Api::<kube::api::DynamicObject>::namespaced_with(
                self.manager.client().clone(),
                "default",
                &resource,
            );
            let object = serde_json::from_value(value).unwrap();
            api.create(&kube::api::PostParams::default(), &object).await.unwrap();
        }
    }

    /// Waits until `done` holds, for at most a minute of simulated time.
    pub async fn until(&self, what: &str, done: impl Fn(&Manager) -> bool) {
        let deadline = self.manager.clock().monotonic() + Duration::from_secs(60);
        while !done(&self.manager) {
            assert!(self.manager.clock().monotonic() < deadline, "{what}: {}", self.describe());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the handle on a kind in the management cluster.
    pub fn objects<K: Kind<DynamicType = ()>>(&self) -> Objects<K> {
        self.manager.objects()
    }

    /// Lists the conditions that are not in their expected final state, for the message of a failing test.
    pub fn describe(&self) -> String {
        use schemas::HasConditions;
        let mut text = String::new();
        let cluster =
            self.objects::<schemas::cluster::Cluster>().get(&NamespacedName::new("default", "plain"));
        for condition in cluster.iter().flat_map(|cluster| cluster.conditions()) {
            text.push_str(&format!(
                "\n{} {} {}: {}",
                condition.type_, condition.status, condition.reason, condition.message
            ));
        }
        text
    }
}

/// Serves the workload cluster over TLS; returns its kubeconfig.
async fn listen(server: &Server, network: &Arc<dyn Network>, clock: &Clock, random: &Random) -> String {
    let now = clock.now();
    let authority =
        CertificateAuthority::generate("kubernetes-ca", KeyAlgorithm::EcdsaP256, None, now, random).unwrap();
    let identity = authority.issue(&Leaf::server("kubernetes", vec![HOST.to_owned()]), now, random).unwrap();
    let admin = authority.issue(&Leaf::client("admin", &["system:masters"]), now, random).unwrap();
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let clients = ClientCertificates::Required(authority.certificate().to_owned());
    let config = server_config(certificates, &clients, &["http/1.1"], clock).unwrap();
    let listener = Listener::new(server.clone(), Some(Tls::new(config)));
    let mut accepting = network.listen(HOST, PORT).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = accepting.accept().await {
            let listener = listener.clone();
            tokio::spawn(async move { listener.serve_stream(stream).await });
        }
    });
    let url = format!("https://{HOST}:{PORT}");
    Kubeconfig::for_cluster("plain", &url, authority.certificate(), admin).to_yaml().unwrap()
}
