//! An API server with the controllers of declared providers, on a paused clock, and a provider whose files are in ConfigMaps.

pub mod garden;

use std::sync::Arc;
use std::time::Duration;

use clusterctl::built_in::BuiltIn;
use clusterctl::configuration::Environment;
use clusterctl::inventory::Installed;
use clusterctl::network::{Answer, Network, Request};
use engine::Manager;
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use operator::{Context, PROVIDERS};
use schemas::meta::Condition;
use schemas::operator::InfrastructureProvider;
use serde_json::{Value, json};
use test_plane::Fixture;

const GROUPS: &[&str] = &["cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io", "operator.cluster.x-k8s.io"];

/// The providers whose controllers run in the process. The last one is in the inventory only when somebody declares it.
fn in_process() -> Vec<BuiltIn> {
    vec![
        built_in("cluster-api", "CoreProvider", "capi-system"),
        built_in("kubeadm", "BootstrapProvider", "capi-kubeadm-bootstrap-system"),
        built_in("in-cluster", "IPAMProvider", "caip-in-cluster-system"),
    ]
}

fn built_in(name: &str, type_name: &str, namespace: &str) -> BuiltIn {
    let [name, type_name, namespace] = [name, type_name, namespace].map(str::to_owned);
    let provider = Installed { name, type_name, version: "v1.14.0".to_owned(), namespace };
    BuiltIn { provider, stands_aside: false, is_listed: false, backends: Vec::new() }
}

/// A network with one web server, which has two versions of a provider.
pub struct Web;

impl Network for Web {
    fn get(&self, request: Request) -> BoxFuture<'_, clusterctl::Result<Answer>> {
        let found = ["v0.3.0", "v0.4.0"].into_iter().find_map(|version| garden::file(&request.url, version));
        let status = if found.is_some() { 200 } else { 404 };
        let body = found.unwrap_or_default().into();
        async move { Ok(Answer { status, exhausted: false, body }) }.boxed()
    }
}

fn start(manager: &Manager, in_process: Vec<BuiltIn>) {
    let context = Context {
        configuration: None,
        environment: Environment::fixed([]),
        network: Arc::new(Web),
        in_process,
    };
    PROVIDERS.iter().for_each(|provider| provider.start(manager, &context));
}

/// Starts a server in which the core provider and kubeadm's bootstrap provider run, and whose Deployments become available.
pub async fn fixture() -> Fixture {
    fixture_with(None).await
}

/// The same, where the controllers of the provider `garden` run in the process, too, and stand aside when it is installed.
pub async fn fixture_with_garden() -> Fixture {
    let garden = built_in(garden::NAME, "InfrastructureProvider", "default");
    fixture_with(Some(BuiltIn { stands_aside: true, ..garden })).await
}

/// The same, where the inventory has the provider `garden` from the start, in another namespace.
pub async fn fixture_with_listed_garden() -> Fixture {
    let garden = built_in(garden::NAME, "InfrastructureProvider", "listed");
    let garden = BuiltIn { stands_aside: true, is_listed: true, ..garden };
    let fixture = fixture_with(Some(garden.clone())).await;
    fixture.create(garden.provider.namespace_object()).await;
    fixture.create(garden.provider.entry()).await;
    fixture.create(clusterctl::built_in::config_map(&[garden])).await;
    fixture
}

async fn fixture_with(more: Option<BuiltIn>) -> Fixture {
    let all: Vec<BuiltIn> = in_process().into_iter().chain(more).collect();
    let fixture = Fixture::new(GROUPS, move |manager| start(manager, all.clone())).await;
    for entry in &in_process()[..2] {
        fixture.create(entry.provider.namespace_object()).await;
        fixture.create(entry.provider.entry()).await;
    }
    tokio::spawn(run_deployments(fixture.user()));
    fixture
}

/// Reports that each Deployment is available, except with the image `broken`.
async fn run_deployments(client: Client) {
    let all: Api<Deployment> = Api::all(client.clone());
    loop {
        for deployment in all.list(&ListParams::default()).await.unwrap() {
            let replicas = deployment.spec.replicas.unwrap_or_default();
            let generation = deployment.metadata.generation;
            let is_broken = serde_json::to_string(&deployment.spec).unwrap().contains("broken");
            let done = deployment.status.as_ref().and_then(|status| status.observed_generation) == generation;
            if done {
                continue;
            }
            let status = if is_broken { "False" } else { "True" };
            let condition = json!({"type": "Available", "status": status, "reason": "MinimumReplicas", "message": "by the test"});
            let status = json!({"status": {
                "observedGeneration": generation, "replicas": replicas, "conditions": [condition],
            }});
            let api: Api<Deployment> = Api::namespaced(client.clone(), &deployment.namespace().unwrap());
            // It may be gone by now.
            drop(
                api.patch_status(&deployment.name_any(), &PatchParams::default(), &Patch::Merge(status))
                    .await,
            );
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The condition of a type of the provider `garden`.
pub fn condition(manager: &Manager, type_: &str) -> Option<Condition> {
    let garden = test_plane::get::<InfrastructureProvider>(manager, garden::NAME)?;
    garden.status.clone()?.conditions.into_iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition has this status and reason, and its message contains the text.
pub fn says(manager: &Manager, type_: &str, status: &str, reason: &str, text: &str) -> bool {
    condition(manager, type_).is_some_and(|condition| {
        condition.status == status && condition.reason == reason && condition.message.contains(text)
    })
}

/// Whether the version of the provider `garden` is installed, and nothing else is wanted.
pub fn has(manager: &Manager, version: &str) -> bool {
    let Some(garden) = test_plane::get::<InfrastructureProvider>(manager, garden::NAME) else { return false };
    let status = garden.status.clone().unwrap_or_default();
    status.installed_version.as_deref() == Some(version)
        && status.observed_generation == garden.metadata.generation
        && says(manager, "Ready", "True", "DeploymentsAvailable", "")
        && says(manager, "ProviderInstalled", "True", "ProviderInstalled", "")
}

/// Reads an object as the user. Returns `None` if it does not exist.
pub async fn read(fixture: &Fixture, path: &str) -> Option<Value> {
    let request = http_get(path);
    match fixture.user().request::<Value>(request).await {
        Ok(found) => Some(found),
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("{path}: {error}"),
    }
}

fn http_get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}
