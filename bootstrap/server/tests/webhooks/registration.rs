//! Registration in an API server in the process of the test.

use std::sync::Arc;
use std::task::{Context, Poll};

use access::User;
use http::Request;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::client::Body as ClientBody;
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use registry::Registry;
use serde_json::{Value, json};
use server::names::WEBHOOKS;
use server::webhooks::CONFIGURATION;
use server::webhooks::registration::{Kind, Registration, rules};
use server::webhooks::reviews::Purpose;
use serving::{ClientService, Server};
use store::{Memory, Store};
use tower_service::Service;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
/// The definitions of a cluster, with the namespaces that installations have marked them with.
const DEFINITIONS: [(&str, Option<&str>); 4] = [
    ("metal3machines", Some("here")),
    ("metal3machinetemplates", Some("here")),
    ("metal3datas", None),
    ("metal3clusters", Some("there")),
];

#[test]
fn rules_come_from_the_table_of_kinds() {
    let known: Vec<Kind> = schemas::crds().unwrap().iter().map(Kind::of).collect();
    let all: Vec<&Kind> = known.iter().collect();
    let versions = |purpose, group: &str, resource: &str| {
        let rules = rules(purpose, &all);
        let mut found = rules.iter().filter(|rule| {
            rule["apiGroups"] == json!([group])
                && rule["resources"].as_array().unwrap().contains(&json!(resource))
        });
        found.next().map(|rule| rule["apiVersions"].clone())
    };
    let both = Some(json!(["v1beta2", "v1beta1"]));
    let defaults = |group, resource| versions(Purpose::Defaults, group, resource);
    assert_eq!(defaults("cluster.x-k8s.io", "clusters"), both);
    assert_eq!(defaults("cluster.x-k8s.io", "machinedrainrules"), None);
    assert_eq!(defaults(INFRASTRUCTURE, "metal3machines"), both);
    let rules = |group, resource| versions(Purpose::Rules, group, resource);
    assert_eq!(rules("cluster.x-k8s.io", "machinedrainrules"), both);
    assert_eq!(rules(INFRASTRUCTURE, "metal3machines"), both);
    assert!(rules("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes/scale").is_some());
    assert_eq!(rules("clusterctl.cluster.x-k8s.io", "providers"), None);
}

/// A client that notes its requests.
#[derive(Clone)]
struct Noting {
    inner: ClientService,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Service<Request<ClientBody>> for Noting {
    type Response = <ClientService as Service<Request<ClientBody>>>::Response;
    type Error = <ClientService as Service<Request<ClientBody>>>::Error;
    type Future = <ClientService as Service<Request<ClientBody>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<ClientBody>>::poll_ready(&mut self.inner, context)
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        self.requests.lock().push(format!("{} {}", request.method(), request.uri().path()));
        self.inner.call(request)
    }
}

/// A cluster with [`DEFINITIONS`].
struct Cluster {
    client: Client,
    requests: Arc<Mutex<Vec<String>>>,
    definitions: Api<DynamicObject>,
    configurations: Api<DynamicObject>,
}

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

fn name(plural: &str) -> String {
    format!("{plural}.{INFRASTRUCTURE}")
}

impl Cluster {
    async fn new() -> Self {
        let clock = Clock::system();
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let server = Server::builder(registry, clock).build();
        let (inner, requests) = (server.client_service(User::master("test")), Arc::default());
        let client = Client::new(Noting { inner, requests: Arc::clone(&requests) }, "default");
        let api = |resource: &ApiResource| Api::all_with(client.clone(), resource);
        let definitions: Api<DynamicObject> =
            api(&resource("apiextensions.k8s.io", "CustomResourceDefinition"));
        let known = schemas::crds().unwrap();
        for (plural, namespace) in DEFINITIONS {
            let mut definition =
                known.iter().find(|one| one["metadata"]["name"] == name(plural)).unwrap().clone();
            if let Some(namespace) = namespace {
                definition["metadata"]["annotations"][WEBHOOKS] = namespace.into();
            }
            let definition = serde_json::from_value(definition).unwrap();
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let resource = resource("admissionregistration.k8s.io", Purpose::Rules.kind());
        let configurations: Api<DynamicObject> = api(&resource);
        let empty = DynamicObject::new(CONFIGURATION, &resource);
        configurations.create(&PostParams::default(), &empty).await.unwrap();
        Self { definitions, configurations, requests, client }
    }

    fn registration(&self, namespace: &str) -> Registration {
        Registration::new(self.client.clone(), namespace.to_owned()).unwrap()
    }

    async fn state(&self) -> Vec<DynamicObject> {
        let mut state = vec![self.configurations.get(CONFIGURATION).await.unwrap()];
        for (plural, _) in DEFINITIONS {
            state.push(self.definitions.get(&name(plural)).await.unwrap());
        }
        state
    }

    /// The requests for single definitions since the last call.
    fn requests(&self) -> Vec<String> {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
        let requests = std::mem::take(&mut *self.requests.lock());
        requests.iter().filter(|one| one.contains(path)).map(|one| one.replace(path, "")).collect()
    }
}

fn strategies(definitions: &[DynamicObject]) -> Vec<&Value> {
    definitions.iter().map(|one| &one.data["spec"]["conversion"]["strategy"]).collect()
}

/// Registering again must change nothing, or it would do so every minute.
#[tokio::test]
async fn marked_definitions_are_registered_once() {
    let cluster = Cluster::new().await;
    let mut here = cluster.registration("here");
    here.register("YQ==").await.unwrap();
    let first = cluster.state().await;
    let webhooks = &first[0].data["webhooks"];
    let resources = json!(["metal3machines", "metal3machinetemplates"]);
    assert_eq!(webhooks[0]["rules"][0]["resources"], resources, "{webhooks}");
    assert_eq!(strategies(&first[1..]), ["Webhook", "Webhook", "None", "None"]);
    here.register("YQ==").await.unwrap();
    cluster.registration("here").register("YQ==").await.unwrap();
    assert_eq!(cluster.state().await, first);
    here.register("Yg==").await.unwrap();
    let bundle = &cluster.state().await[1].data["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
    assert_eq!(bundle, "Yg==");
    cluster.registration("nowhere").register("YQ==").await.unwrap();
    assert_eq!(cluster.state().await[0].data["webhooks"], Value::Null);
}

#[tokio::test]
async fn definitions_are_read_only_when_they_have_changed() {
    let cluster = Cluster::new().await;
    let mut here = cluster.registration("here");
    here.register("YQ==").await.unwrap();
    // The conditions of the definitions may have followed the first registration.
    here.register("YQ==").await.unwrap();
    cluster.requests();
    here.register("YQ==").await.unwrap();
    assert_eq!(cluster.requests(), Vec::<String>::new());

    let changed = name("metal3machines");
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    cluster.definitions.patch(&changed, &PatchParams::default(), &Patch::Merge(none)).await.unwrap();
    assert_eq!(strategies(&cluster.state().await[1..])[0], "None");
    cluster.requests();
    here.register("YQ==").await.unwrap();
    assert_eq!(cluster.requests(), [format!("GET {changed}"), format!("PATCH {changed}")]);
    assert_eq!(strategies(&cluster.state().await[1..])[0], "Webhook");
}
