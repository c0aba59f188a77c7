//! A management cluster with the ExtensionConfig controller, and extensions with HTTPS.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

pub mod https;
pub mod server;

use std::sync::Arc;

use engine::{Manager, NamespacedName};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use net::Network;
use runtime_extensions::names::DISCOVERED;
use runtime_extensions::{Client, Hook, PROVIDERS};
use schemas::HasConditions;
use schemas::runtime::ExtensionConfig;
use serde_json::{Value, json};
use test_plane::Fixture;

use https::caller;

const GROUPS: &[&str] = &["cluster.x-k8s.io", "runtime.cluster.x-k8s.io"];
/// The API version of all hooks.
pub const VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

fn start(manager: &Manager) {
    let client = client_over(manager, manager.network().clone());
    PROVIDERS.iter().for_each(|provider| provider.start(manager, &client));
}

/// Starts a management cluster whose network is in this process.
pub async fn fixture() -> Fixture {
    Fixture::new(GROUPS, start).await
}

/// Starts a management cluster whose controllers never call an extension.
pub async fn fixture_without_controllers() -> Fixture {
    Fixture::new(GROUPS, |_| ()).await
}

/// Returns a client of extensions on this network.
pub fn client_over(manager: &Manager, network: Arc<dyn Network>) -> Client {
    Client::new(manager, caller(network, manager.clock().clone()))
}

/// Returns a client of extensions on the network of the management cluster.
pub fn client(fixture: &Fixture) -> Client {
    client_over(&fixture.manager, fixture.manager.network().clone())
}

fn configs(fixture: &Fixture) -> Api<DynamicObject> {
    Api::all_with(fixture.user(), &ApiResource::erase::<ExtensionConfig>(&()))
}

/// Creates an ExtensionConfig.
pub async fn create(fixture: &Fixture, name: &str, spec: Value, annotations: Value) {
    let object = json!({
        "apiVersion": ExtensionConfig::API_VERSION, "kind": "ExtensionConfig",
        "metadata": {"name": name, "annotations": annotations}, "spec": spec,
    });
    let object = serde_json::from_value(object).unwrap();
    configs(fixture).create(&PostParams::default(), &object).await.unwrap();
}

/// Creates an ExtensionConfig with these handlers, as if they had been discovered.
pub async fn create_discovered(fixture: &Fixture, name: &str, spec: Value, handlers: Value) {
    create(fixture, name, spec, json!({})).await;
    let status = json!({"status": {"handlers": handlers}});
    configs(fixture).patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    fixture
        .until("the handlers", |manager| config(manager, name).is_some_and(|config| config.status.is_some()))
        .await;
}

/// Changes an ExtensionConfig by a merge patch.
pub async fn change(fixture: &Fixture, name: &str, patch: Value) {
    configs(fixture).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

/// Deletes an ExtensionConfig, and waits until it is gone.
pub async fn delete(fixture: &Fixture, name: &str) {
    configs(fixture).delete(name, &DeleteParams::default()).await.unwrap();
    fixture.until("the deletion", |manager| config(manager, name).is_none()).await;
}

/// Returns an ExtensionConfig.
pub fn config(manager: &Manager, name: &str) -> Option<Arc<ExtensionConfig>> {
    manager.objects::<ExtensionConfig>().get(&NamespacedName::new("", name))
}

/// Returns status and message of the condition `Discovered`.
pub fn discovered(manager: &Manager, name: &str) -> (String, String) {
    let condition = config(manager, name).and_then(|config| config.condition(DISCOVERED).cloned());
    let condition = condition.unwrap_or_default();
    (condition.status, condition.message)
}

/// Waits until the condition `Discovered` has this status.
pub async fn until_discovered(fixture: &Fixture, name: &str, status: &str) {
    fixture
        .until(&format!("{name} is discovered: {status}"), |manager| discovered(manager, name).0 == status)
        .await;
}

/// Returns the names of the handlers in the status.
pub fn handlers(manager: &Manager, name: &str) -> Vec<String> {
    let status = config(manager, name).and_then(|config| config.status.clone()).unwrap_or_default();
    status.handlers.into_iter().map(|handler| handler.name).collect()
}

/// Returns a handler as an extension describes it.
pub fn described(name: &str, hook: Hook) -> Value {
    json!({"name": name, "requestHook": {"apiVersion": VERSION, "hook": hook.name()}})
}

/// Returns a handler as it is in the status.
pub fn registered(name: &str, hook: Hook, policy: &str, seconds: i32) -> Value {
    let hook = json!({"apiVersion": VERSION, "hook": hook.name()});
    json!({"name": name, "requestHook": hook, "failurePolicy": policy, "timeoutSeconds": seconds})
}
