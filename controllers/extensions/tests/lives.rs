//! Lives of ExtensionConfigs in a management cluster, with a simulated network and time.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use runtime_extensions::Hook;
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::extensions::support::server::{Behaviour, Extension, HOST};
use crate::extensions::support::{
    change, client, config, create, delete, described, discovered, fixture, handlers, until_discovered,
};

const HOOK: Hook = Hook::BeforeClusterCreate;

async fn extension(fixture: &Fixture) -> Extension {
    let extension = Extension::start(fixture.manager.network(), fixture.manager.clock(), 443).await;
    extension.offers(&[described("b", Hook::BeforeClusterDelete), described("a", HOOK)]);
    extension.answers(HOOK, "a", json!({}));
    extension
}

fn service() -> Value {
    json!({"clientConfig": {"service": {"name": "extension", "namespace": "default", "path": "/base//"}}})
}

async fn secret(fixture: &Fixture, authority: &str) {
    fixture
        .create(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "authority"},
            "stringData": {"ca.crt": authority, "tls.key": "hidden"},
        }))
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_extension_is_discovered_and_lost_and_found_again() {
    let fixture = fixture().await;
    let running = extension(&fixture).await;
    create(&fixture, "ext", running.spec(), json!({})).await;
    until_discovered(&fixture, "ext", "True").await;
    assert_eq!(handlers(&fixture.manager, "ext"), ["a.ext", "b.ext"]);
    assert_eq!(client(&fixture).handlers(HOOK, "default").await.unwrap(), ["a.ext"]);
    running.stop().await;
    change(&fixture, "ext", json!({"spec": {"settings": {"new": "yes"}}})).await;
    until_discovered(&fixture, "ext", "False").await;
    let message = discovered(&fixture.manager, "ext").1;
    assert!(message.starts_with("Error in discovery: Discovery of ext: dial tcp"), "{message}");
    assert_eq!(handlers(&fixture.manager, "ext"), ["a.ext", "b.ext"], "they stay");
    let error = client(&fixture).call_all(HOOK, "default", &json!({})).await.unwrap_err().to_string();
    assert!(error.starts_with("BeforeClusterCreate of a.ext: dial tcp"), "{error}");

    let back = extension(&fixture).await;
    let clock = fixture.manager.clock().clone();
    clock.sleep(Duration::from_secs(1)).await;
    change(&fixture, "ext", json!({"spec": {"clientConfig": {"caBundle": back.bundle()}}})).await;
    until_discovered(&fixture, "ext", "True").await;
    assert!(client(&fixture).call_all(HOOK, "default", &json!({})).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lost_extension_is_asked_again_less_and_less_often() {
    let fixture = fixture().await;
    let running = extension(&fixture).await;
    running.on("discovery", Behaviour::Answers(503, "".into()));
    create(&fixture, "ext", running.spec(), json!({})).await;
    until_discovered(&fixture, "ext", "False").await;
    fixture.manager.clock().sleep(Duration::from_secs(60)).await;
    let asked = running.received().len();
    assert!((5..40).contains(&asked), "{asked}");
    running.offers(&[]);
    until_discovered(&fixture, "ext", "True").await;
}

#[tokio::test(start_paused = true)]
async fn the_authority_comes_from_a_secret() {
    let fixture = fixture().await;
    let running = extension(&fixture).await;
    let from = json!({"runtime.cluster.x-k8s.io/inject-ca-from-secret": "default/authority"});
    create(&fixture, "ext", service(), from).await;
    until_discovered(&fixture, "ext", "False").await;
    let message = discovered(&fixture.manager, "ext").1;
    assert_eq!(message, "Error in discovery: caBundle: there is no Secret default/authority");
    assert!(running.received().is_empty());
    secret(&fixture, running.authority.certificate()).await;
    until_discovered(&fixture, "ext", "True").await;
    let bundle = config(&fixture.manager, "ext").unwrap().spec.client_config.ca_bundle.clone();
    assert_eq!(bundle, Some(running.bundle()));
    let path = running.received().pop().unwrap().path;
    assert_eq!(path, "/base/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery", "{HOST}");
}

#[tokio::test(start_paused = true)]
async fn only_certificates_come_from_a_secret() {
    let fixture = fixture().await;
    let running = extension(&fixture).await;
    let identity = running.authority.identity();
    secret(&fixture, &format!("{}{}", identity.certificate, identity.key)).await;
    let from = json!({"runtime.cluster.x-k8s.io/inject-ca-from-secret": "default/authority"});
    create(&fixture, "ext", service(), from).await;
    until_discovered(&fixture, "ext", "False").await;
    let found = config(&fixture.manager, "ext").unwrap();
    assert_eq!(found.spec.client_config.ca_bundle, None);
    let message = discovered(&fixture.manager, "ext").1;
    assert!(message.ends_with("ca.crt is not certificates in PEM, without anything else"), "{message}");
    let wrong =
        json!({"metadata": {"annotations": {"runtime.cluster.x-k8s.io/inject-ca-from-secret": "authority"}}});
    change(&fixture, "ext", wrong).await;
    fixture
        .until("the other message", |manager| discovered(manager, "ext").1.contains("must be namespace/name"))
        .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_at_rest_and_a_restart_keeps_the_handlers() {
    let mut fixture = fixture().await;
    let running = extension(&fixture).await;
    create(&fixture, "ext", running.spec(), json!({})).await;
    until_discovered(&fixture, "ext", "True").await;
    fixture.manager.clock().sleep(Duration::from_secs(1)).await;
    let version = config(&fixture.manager, "ext").unwrap().metadata.resource_version.clone();
    // The extension names its handlers in another order each time, as upstream's servers do.
    running.offers(&[described("a", HOOK), described("b", Hook::BeforeClusterDelete)]);
    fixture.manager.clock().sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(config(&fixture.manager, "ext").unwrap().metadata.resource_version, version);
    // Nobody listens on the network of the next life.
    fixture.restart().await;
    assert_eq!(
        client(&fixture).handlers(HOOK, "default").await.unwrap(),
        ["a.ext"],
        "before it is asked again"
    );
    until_discovered(&fixture, "ext", "False").await;
    assert_eq!(handlers(&fixture.manager, "ext"), ["a.ext", "b.ext"]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_or_paused_extension() {
    let fixture = fixture().await;
    let running = extension(&fixture).await;
    create(&fixture, "ext", running.spec(), json!({"cluster.x-k8s.io/paused": ""})).await;
    let is_paused = |manager: &engine::Manager| {
        config(manager, "ext")
            .is_some_and(|config| schemas::HasConditions::condition_is_true(config.as_ref(), "Paused"))
    };
    fixture.until("it is paused", is_paused).await;
    assert!(running.received().is_empty());
    change(&fixture, "ext", json!({"metadata": {"annotations": null}})).await;
    until_discovered(&fixture, "ext", "True").await;
    delete(&fixture, "ext").await;
    assert!(client(&fixture).handlers(HOOK, "default").await.unwrap().is_empty());
    let asked = running.received().len();
    fixture.manager.clock().sleep(Duration::from_secs(3600)).await;
    assert_eq!(running.received().len(), asked);
}
