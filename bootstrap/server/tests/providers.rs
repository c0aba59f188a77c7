//! Tests of `server::providers`.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use net::RealNetwork;
use registry::{Context, Input, Item, ListOptions, PatchBody, Subresource};
use serde_json::{Value, json};
use server::plane::{Dependencies, Plane};
use server::providers::{PROVIDERS, VERSION, record};
use store::{Memory, Store};

const DOCKER: &str = "infrastructure-docker";

async fn plane() -> Plane {
    let (clock, random) = (Clock::system(), Random::seeded(1));
    let store = Store::open(Memory::default(), clock.clone()).await.unwrap();
    let keys = pki::TokenKeys::generate(&random).unwrap();
    let dependencies = Dependencies { clock, random, network: Arc::new(RealNetwork) };
    Plane::start(store, &dependencies, None, keys).await.unwrap()
}

/// Starts with these controllers, and returns the names of the entries with their namespaces and versions.
async fn recorded(plane: &Plane, selected: &str) -> Vec<String> {
    record(plane, &selected.parse().unwrap()).await.unwrap();
    let served = plane.registry.served(PROVIDERS.0, PROVIDERS.1, PROVIDERS.2).unwrap();
    let mut context = Context::internal("test");
    let listed = plane.registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
    let text = |item: &Item| {
        let entry: Value = serde_json::from_slice(&item.object).unwrap();
        format!("{}/{} {}", item.namespace, item.name, entry["version"].as_str().unwrap())
    };
    listed.items.iter().map(text).collect()
}

async fn create(plane: &Plane, (group, version, plural): (&str, &str, &str), object: Value) {
    let served = plane.registry.served(group, version, plural).unwrap();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let mut context = Context::internal("test");
    plane.registry.create(&mut context, &served, &namespace, Input::new(object)).await.unwrap();
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Returns an entry of the provider in another version than the one that is built in.
fn entry_in(namespace: &str) -> Value {
    json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": {"name": DOCKER, "namespace": namespace},
        "providerName": "docker", "type": "InfrastructureProvider", "version": "v1.14.2"})
}

/// Makes the provider one that somebody has installed: it has a Deployment.
async fn install(plane: &Plane) {
    let metadata =
        json!({"name": "capd", "namespace": "capd-system", "labels": {"cluster.x-k8s.io/provider": DOCKER}});
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    create(plane, ("apps", "v1", "deployments"), deployment).await;
}

#[tokio::test]
async fn entries_are_made_once_and_then_left_alone() {
    let plane = plane().await;
    assert_eq!(recorded(&plane, "none").await, [""; 0]);
    assert_eq!(recorded(&plane, "all").await.len(), 4);
    let served = plane.registry.served(PROVIDERS.0, PROVIDERS.1, PROVIDERS.2).unwrap();
    let newer = PatchBody::Merge(r#"{"version": "v1.14.1"}"#.into());
    let (namespace, name) = ("capi-system", "cluster-api");
    let mut context = Context::internal("test");
    let patched = plane.registry.patch(&mut context, &served, namespace, name, Subresource::None, newer);
    patched.await.unwrap();
    let expected = [
        format!("capd-system/{DOCKER} {VERSION}"),
        format!("capi-kubeadm-bootstrap-system/bootstrap-kubeadm {VERSION}"),
        format!("capi-kubeadm-control-plane-system/control-plane-kubeadm {VERSION}"),
        "capi-system/cluster-api v1.14.1".to_owned(),
    ];
    assert_eq!(recorded(&plane, "all").await, expected);
}

#[tokio::test]
async fn a_provider_of_several_families_is_listed_while_one_of_them_is_selected() {
    let plane = plane().await;
    let entry = format!("capd-system/{DOCKER} {VERSION}");
    for (selected, expected) in [
        ("simulated", &[entry.as_str()][..]),
        ("containers", &[entry.as_str()]),
        ("addons", &[]),
        ("simulated,containers", &[entry.as_str()]),
        ("none", &[]),
        ("simulated", &[entry.as_str()]),
    ] {
        assert_eq!(recorded(&plane, selected).await, expected, "{selected}");
    }
    install(&plane).await;
    assert_eq!(recorded(&plane, "none").await, [entry.as_str()]);
}

#[tokio::test]
async fn an_entry_of_another_release_gets_the_version_that_is_built_in() {
    for is_installed in [false, true] {
        let plane = plane().await;
        create(&plane, ("", "v1", "namespaces"), namespace("capd-system")).await;
        create(&plane, PROVIDERS, entry_in("capd-system")).await;
        if is_installed {
            install(&plane).await;
        }
        let version = if is_installed { "v1.14.2" } else { VERSION };
        let expected = format!("capd-system/{DOCKER} {version}");
        assert_eq!(recorded(&plane, "simulated").await, [expected.as_str()]);
        assert_eq!(recorded(&plane, "containers").await, [expected]);
    }
}

#[tokio::test]
async fn a_provider_that_is_installed_in_another_namespace_is_not_listed_twice() {
    let plane = plane().await;
    create(&plane, ("", "v1", "namespaces"), namespace("elsewhere")).await;
    create(&plane, PROVIDERS, entry_in("elsewhere")).await;
    assert_eq!(recorded(&plane, "simulated").await, ["elsewhere/infrastructure-docker v1.14.2"]);
}
