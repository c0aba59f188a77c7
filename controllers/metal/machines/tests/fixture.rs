//! A tenant with a HostClaim, and hosts in another namespace.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

use std::sync::Arc;

use engine::{Kind, Manager, NamespacedName};
use k8s_openapi::api::core::v1::Secret;
use schemas::HasConditions;
use schemas::metal3::{BareMetalHost, HostClaim};
use serde_json::{Value, json};
use test_plane::Fixture;

const GROUPS: &[&str] = &["cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "metal3.io"];
pub const VERSION: &str = "metal3.io/v1alpha1";
pub const IMAGE: &str = "http://images/os.raw";

fn start(manager: &Manager) {
    metal_machines::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Starts a server with the namespaces `metal`, of the hosts, and `tenant`.
pub async fn fixture() -> Fixture {
    let fixture = Fixture::new(GROUPS, start).await;
    for name in ["metal", "tenant"] {
        fixture.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    }
    fixture
}

pub async fn policy(fixture: &Fixture, namespaces: Value) {
    let metadata = json!({"name": "tenants", "namespace": "metal"});
    let spec = json!({"hostClaimNamespaces": namespaces});
    fixture
        .create(
            json!({"apiVersion": VERSION, "kind": "HostDeployPolicy", "metadata": metadata, "spec": spec}),
        )
        .await;
}

/// Creates a host that is available.
pub async fn host(fixture: &Fixture, name: &str) {
    fixture
        .create(json!({
            "apiVersion": VERSION, "kind": "BareMetalHost", "metadata": {"name": name, "namespace": "metal"},
            "spec": {"online": false, "bootMACAddress": "52:54:00:00:00:01"},
            "status": {"provisioning": {"state": "available", "ID": ""}, "operationalStatus": "OK", "poweredOn": false,
                "errorMessage": "", "errorCount": 0},
        }))
        .await;
}

/// Plays the host's own controller.
pub async fn becomes(fixture: &Fixture, name: &str, state: &str) {
    let is_provisioned = state == "provisioned";
    let condition = |type_: &str, is_true: bool| {
        json!({"type": type_, "status": if is_true { "True" } else { "False" }, "reason": "Test", "message": "",
            "lastTransitionTime": "2026-11-21T00:00:00Z"})
    };
    let status = json!({"provisioning": {"state": state}, "poweredOn": is_provisioned, "conditions": [
        condition("Provisioned", is_provisioned), condition("AvailableForProvisioning", state == "available")]});
    fixture.patch_status_in::<BareMetalHost>("metal", name, json!({"status": status})).await;
}

pub async fn claim(fixture: &Fixture, spec: Value) {
    let mut all = json!({"poweredOn": true, "image": {"url": IMAGE, "checksum": "abc"}});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let metadata = json!({"name": "c", "namespace": "tenant"});
    fixture
        .create(json!({"apiVersion": VERSION, "kind": "HostClaim", "metadata": metadata, "spec": all}))
        .await;
}

pub async fn secret(fixture: &Fixture, namespace: &str, name: &str, content: &str) {
    let metadata = json!({"name": name, "namespace": namespace});
    let data = json!({"userData": content});
    fixture
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}))
        .await;
}

pub fn get<K: Kind<DynamicType = ()>>(manager: &Manager, namespace: &str, name: &str) -> Option<Arc<K>> {
    manager.objects::<K>().get(&NamespacedName::new(namespace, name))
}

pub fn host_of(manager: &Manager) -> Arc<BareMetalHost> {
    get(manager, "metal", "rack1").unwrap()
}

pub fn consumer(host: &BareMetalHost) -> Option<&str> {
    host.spec.consumer_ref.as_ref()?.kind.as_deref()
}

/// Returns status, reason and message of a condition of the claim.
pub fn said(manager: &Manager, type_: &str) -> (String, String, String) {
    let claim = get::<HostClaim>(manager, "tenant", "c");
    let condition = claim.and_then(|claim| claim.condition(type_).cloned()).unwrap_or_default();
    (condition.status, condition.reason, condition.message)
}

pub fn content(manager: &Manager, namespace: &str, name: &str) -> Option<String> {
    let secret = get::<Secret>(manager, namespace, name)?;
    String::from_utf8(secret.data.as_ref()?["userData"].0.clone()).ok()
}

pub fn image(manager: &Manager) -> Option<String> {
    host_of(manager).spec.image.as_ref().map(|image| image.url.clone())
}

pub async fn is_ready(fixture: &Fixture) {
    fixture.until("the claim is ready", |manager| said(manager, "Ready").0 == "True").await;
}

pub async fn change(fixture: &Fixture, spec: Value) {
    fixture.patch_in::<HostClaim>("tenant", "c", json!({"spec": spec})).await;
}
