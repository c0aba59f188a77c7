//! Objects of the tests, and what they ask of the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{Manager, NamespacedName};
use schemas::HasConditions;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool, InClusterIPPoolStatusIPAddresses};
use serde_json::{Value, json};
use test_plane::{Fixture, get};

pub const GROUPS: &[&str] = &["ipam.cluster.x-k8s.io", "cluster.x-k8s.io"];
pub const GROUP: &str = "ipam.cluster.x-k8s.io";

pub fn start(manager: &Manager) {
    cluster_ipam::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Returns the pool `pool` with the addresses from 10.0.0.10 to `last`.
pub fn pool(last: &str) -> Value {
    json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool", "metadata": {"name": "pool"},
        "spec": {"addresses": [format!("10.0.0.10-{last}")], "prefix": 24, "gateway": "10.0.0.1"},
    })
}

pub fn global_pool(last: &str) -> Value {
    let mut pool = pool(last);
    pool["kind"] = "GlobalInClusterIPPool".into();
    pool
}

pub fn claim(name: &str) -> Value {
    claim_of("InClusterIPPool", name)
}

pub fn claim_of(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim", "metadata": {"name": name},
        "spec": {"poolRef": {"apiGroup": GROUP, "kind": kind, "name": "pool"}},
    })
}

pub fn cluster(name: &str, paused: bool) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"paused": paused, "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name}},
    })
}

/// Returns the address that a claim names in its status.
pub fn address(manager: &Manager, claim: &str) -> Option<String> {
    address_in(manager, "default", claim)
}

pub fn address_in(manager: &Manager, namespace: &str, claim: &str) -> Option<String> {
    let claim = manager.objects::<IPAddressClaim>().get(&NamespacedName::new(namespace, claim))?;
    let name = &claim.status.as_ref()?.address_ref.as_ref()?.name;
    let address = manager.objects::<IPAddress>().get(&NamespacedName::new(namespace, name.as_str()))?;
    Some(address.spec.address.clone())
}

/// Returns reason and message of the condition `Ready` of a claim.
pub fn ready(manager: &Manager, claim: &str) -> Option<(String, String)> {
    let claim = get::<IPAddressClaim>(manager, claim)?;
    claim.condition("Ready").map(|ready| (ready.reason.clone(), ready.message.clone()))
}

pub fn has_reason(manager: &Manager, claim: &str, reason: &str) -> bool {
    ready(manager, claim).is_some_and(|(found, _)| found == reason)
}

/// Returns total, used, free and out of range of the pool.
pub fn numbers(manager: &Manager) -> Option<[i64; 4]> {
    let pool: Arc<InClusterIPPool> = get(manager, "pool")?;
    let InClusterIPPoolStatusIPAddresses { total, used, free, out_of_range } =
        pool.status.clone()?.ip_addresses?;
    Some([total, used, free, out_of_range])
}

/// Checks on the server that `count` IPAddresses exist and no two have one address.
pub async fn check_distinct(fixture: &Fixture, count: usize) {
    let all: Vec<String> =
        fixture.list::<IPAddress>().await.into_iter().map(|address| address.spec.address).collect();
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!((distinct.len(), all.len()), (count, count), "{all:?}");
}
