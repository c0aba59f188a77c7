//! Which controllers `--install` starts at the target, by what runs at the source.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use firstlight::install::controllers_of;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::json;
use server::controllers::Selection;

use crate::place::Place;

/// Records a provider in clusterctl's inventory.
async fn record(client: &Client, name: &str) -> Api<DynamicObject> {
    let providers = Api::namespaced_with(client.clone(), "default", &clusterctl::inventory::resource());
    let provider = json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider", "metadata": {"name": name},
        "providerName": name, "type": "InfrastructureProvider", "version": "v1.14.0",
    });
    let provider = serde_json::from_value(provider).unwrap();
    providers.create(&PostParams::default(), &provider).await.unwrap();
    providers
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_with_the_docker_provider_keeps_it() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let (all, others) = (Selection::all(), Selection::all().without("simulated"));
    assert_eq!(controllers_of(None, &client).await.unwrap(), all);
    record(&client, "infrastructure-aws").await;
    assert_eq!(controllers_of(None, &client).await.unwrap(), all);
    let providers = record(&client, "infrastructure-docker").await;
    assert_eq!(controllers_of(None, &client).await.unwrap(), others);
    // What a server itself says counts first; one without controllers leaves them to the target.
    let data = place.folder.path();
    assert_eq!(controllers_of(Some(data), &client).await.unwrap(), others);
    providers.delete("infrastructure-docker", &DeleteParams::default()).await.unwrap();
    assert_eq!(controllers_of(Some(data), &client).await.unwrap(), all);
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_whose_own_controllers_are_listed_as_the_docker_provider_has_no_other() {
    for chosen in ["all", "core,simulated", "core,containers"] {
        let place = Place::start(chosen, &[]).await;
        let client = place.process.plane.client("test");
        assert_eq!(controllers_of(None, &client).await.unwrap(), Selection::all(), "{chosen}");
        place.process.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_what_runs_in_it() {
    for chosen in ["core,simulated", "core,kubeadm-bootstrap,kubeadm-control-plane"] {
        let place = Place::start(chosen, &[]).await;
        let client = place.process.plane.client("test");
        record(&client, "infrastructure-docker").await;
        let found = controllers_of(Some(place.folder.path()), &client).await.unwrap();
        assert_eq!(found, chosen.parse::<Selection>().unwrap());
        place.process.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_without_an_inventory_has_no_docker_provider() {
    let clock = machinery::clock::Clock::system();
    let store = store::Store::open(store::Memory::new(), clock.clone()).await.unwrap();
    let options = registry::Options::default();
    let random = machinery::random::Random::system();
    let registry = registry::Registry::open(store, clock.clone(), random, options).await.unwrap();
    let server = serving::Server::builder(registry, clock).build();
    let client = Client::new(server.client_service(access::User::master("test")), "default");
    assert_eq!(controllers_of(None, &client).await.unwrap(), Selection::all());
}
