//! Tests of `server::providers`.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use net::RealNetwork;
use registry::{Context, ListOptions, PatchBody, Subresource};
use serde_json::Value;
use server::controllers::selection::Selection;
use server::plane::{Dependencies, Plane};
use server::providers::{PROVIDERS, VERSION, record};
use store::{Memory, Store};

#[tokio::test]
async fn entries_are_made_once_and_then_left_alone() {
    let (clock, random) = (Clock::system(), Random::seeded(1));
    let store = Store::open(Memory::default(), clock.clone()).await.unwrap();
    let keys = pki::TokenKeys::generate(&random).unwrap();
    let dependencies = Dependencies { clock, random, network: Arc::new(RealNetwork) };
    let plane = Plane::start(store, &dependencies, None, keys).await.unwrap();
    let served = plane.registry.served(PROVIDERS.0, PROVIDERS.1, PROVIDERS.2).unwrap();
    let mut context = Context::internal("test");

    record(&plane, &Selection::NONE).await.unwrap();
    let listed = plane.registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
    assert!(listed.items.is_empty());

    let all: Selection = "all".parse().unwrap();
    record(&plane, &all).await.unwrap();
    let newer = PatchBody::Merge(r#"{"version": "v1.14.1"}"#.into());
    let (namespace, name) = ("capi-system", "cluster-api");
    let patched = plane.registry.patch(&mut context, &served, namespace, name, Subresource::None, newer);
    patched.await.unwrap();
    record(&plane, &all).await.unwrap();
    let listed = plane.registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
    let entries: Vec<(String, String)> = listed
        .items
        .iter()
        .map(|item| {
            let entry: Value = serde_json::from_slice(&item.object).unwrap();
            (item.name.clone(), entry["version"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected =
        [("bootstrap-kubeadm", VERSION), ("control-plane-kubeadm", VERSION), ("cluster-api", "v1.14.1")];
    assert_eq!(entries, expected.map(|(name, version)| (name.to_owned(), version.to_owned())));
}
