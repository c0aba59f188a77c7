//! Claims get, keep and return addresses.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::Manager;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::metal3_ipam::{IPAddress, IPClaim, IPPool};
use schemas::{ipam, metal3_ipam};
use serde_json::{Value, json};

use test_plane::{Fixture, get};

pub const GROUPS: &[&str] = &["ipam.metal3.io", "ipam.cluster.x-k8s.io", "cluster.x-k8s.io"];

pub fn start(manager: &Manager) {
    metal_machines::ipam::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

pub fn pool(end: &str) -> Value {
    json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": {"name": "pool"},
        "spec": {"namePrefix": "p", "prefix": 24, "gateway": "10.0.0.254", "dnsServers": ["10.0.0.53"],
            "pools": [{"start": "10.0.0.1", "end": end}]},
    })
}

pub fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "metadata": {"name": name, "labels": {"a": "b"}},
        "spec": {"pool": {"name": "pool"}},
    })
}

pub fn cluster_api_claim(name: &str) -> Value {
    json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddressClaim", "metadata": {"name": name},
        "spec": {"poolRef": {"apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "pool"}},
    })
}

/// Returns the address of a claim of either API.
pub fn address(manager: &Manager, claim: &str) -> Option<String> {
    if let Some(claim) = get::<IPClaim>(manager, claim) {
        let name = claim.status.clone()?.address?.name?;
        return Some(get::<IPAddress>(manager, &name)?.spec.address.clone());
    }
    let name = get::<ipam::IPAddressClaim>(manager, claim)?.status.clone()?.address_ref?.name;
    Some(get::<ipam::IPAddress>(manager, &name)?.spec.address.clone())
}

fn indexes(manager: &Manager) -> Vec<(String, String)> {
    let status = get::<IPPool>(manager, "pool").and_then(|pool| pool.status.clone());
    status.map(|status| status.indexes.into_iter().collect()).unwrap_or_default()
}

fn message(manager: &Manager, claim: &str) -> Option<String> {
    get::<IPClaim>(manager, claim)?.status.clone()?.error_message
}

#[tokio::test(start_paused = true)]
async fn both_kinds_of_claims_share_a_pool() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.9")).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    fixture.create(cluster_api_claim("b")).await;
    fixture.until("b has an address", |manager| address(manager, "b").is_some()).await;
    let addresses = [address(&fixture.manager, "a").unwrap(), address(&fixture.manager, "b").unwrap()];
    assert_eq!(addresses, ["10.0.0.1", "10.0.0.2"]);

    let given = fixture.get::<IPAddress>("p-10-0-0-1").unwrap();
    assert_eq!(given.metadata.labels.as_ref().unwrap()["a"], "b");
    assert_eq!(given.metadata.finalizers.as_ref().unwrap(), &["ipaddress.ipam.metal3.io"]);
    let owners: Vec<_> = given
        .metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| (owner.kind.as_str(), owner.controller))
        .collect();
    assert_eq!(owners, [("IPPool", None), ("IPClaim", None)]);
    assert_eq!((given.spec.prefix, given.spec.gateway.as_deref()), (Some(24), Some("10.0.0.254")));
    assert_eq!(given.spec.dns_servers, ["10.0.0.53"]);
    let claim = fixture.get::<ipam::IPAddressClaim>("b").unwrap();
    assert!(claim.condition_is_true("Ready"));
    assert_eq!(claim.metadata.finalizers.as_ref().unwrap(), &["ipam.metal3.io/ipaddressclaim"]);
    let given = fixture.get::<ipam::IPAddress>("p-10-0-0-2").unwrap();
    assert_eq!((given.spec.prefix, given.spec.claim_ref.name.as_str()), (24, "b"));
    assert_eq!(given.metadata.finalizers.as_ref().unwrap(), &["ipam.metal3.io/ipaddress"]);

    let expected =
        [("a", "10.0.0.1"), ("b", "10.0.0.2")].map(|(claim, address)| (claim.to_owned(), address.to_owned()));
    fixture.until("the pool lists them", |manager| indexes(manager) == expected).await;
    fixture.delete::<IPPool>("pool").await;
    fixture.delete::<IPClaim>("a").await;
    fixture.until("a is gone", |manager| get::<IPClaim>(manager, "a").is_none()).await;
    assert!(fixture.get::<IPPool>("pool").is_some(), "an address of the pool is allocated");
    fixture.delete::<ipam::IPAddressClaim>("b").await;
    fixture.until("the pool is gone", |manager| get::<IPPool>(manager, "pool").is_none()).await;
    assert!(
        fixture.list::<IPAddress>().await.is_empty() && fixture.list::<ipam::IPAddress>().await.is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_an_exhausted_pool_gets_the_next_address_that_becomes_free() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(claim("a")).await;
    fixture.until("there is no pool", |manager| message(manager, "a").is_some()).await;
    assert_eq!(message(&fixture.manager, "a").unwrap(), "there is no IPPool default/pool: create it");
    fixture.create(pool("10.0.0.2")).await;
    fixture.create(claim("b")).await;
    fixture
        .until("all addresses are given", |manager| {
            address(manager, "a").and(address(manager, "b")).is_some()
        })
        .await;
    assert_eq!(message(&fixture.manager, "a"), None);
    fixture.create(claim("c")).await;
    fixture.create(cluster_api_claim("d")).await;
    fixture.until("the pool is exhausted", |manager| message(manager, "c").is_some()).await;
    let text = message(&fixture.manager, "c").unwrap();
    assert!(text.starts_with("IPPool default/pool has no free address. Its ranges: 10.0.0.1-10.0.0.2 (2 addresses); 2 allocated"), "{text}");
    fixture
        .until("in both APIs", |manager| {
            let claim = get::<ipam::IPAddressClaim>(manager, "d").unwrap_or_default();
            claim.condition("Ready").is_some_and(|ready| ready.reason == "PoolExhausted")
        })
        .await;

    let writes = fixture.requests.writes();
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(fixture.requests.writes(), writes, "nothing polls");
    let freed = address(&fixture.manager, "a");
    fixture.delete::<IPClaim>("a").await;
    fixture.until("c has the address of a", |manager| address(manager, "c") == freed).await;
    assert_eq!(message(&fixture.manager, "c"), None);
    fixture
        .patch::<IPPool>("pool", json!({"spec": {"pools": [{"start": "10.0.0.1", "end": "10.0.0.3"}]}}))
        .await;
    fixture
        .until("d has the new address", |manager| address(manager, "d").as_deref() == Some("10.0.0.3"))
        .await;
    assert!(fixture.get::<ipam::IPAddressClaim>("d").unwrap().condition_is_true("Ready"));
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_moved_pool_is_rebuilt_and_a_used_claim_keeps_its_address() {
    let mut fixture = Fixture::new(GROUPS, |_| ()).await;
    fixture.create(pool("10.0.0.9")).await;
    let mut used = claim("used");
    used["metadata"]["finalizers"] = json!(["another.example.com/user"]);
    fixture.create(used).await;
    // As after a move: objects without a status.
    fixture
        .create(json!({
            "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPAddress", "metadata": {"name": "p-10-0-0-5"},
            "spec": {"address": "10.0.0.5", "pool": {"name": "pool"}, "claim": {"name": "used"}},
        }))
        .await;
    fixture.start = Box::new(start);
    fixture.restart().await;
    fixture
        .until("the claim keeps its address", |manager| {
            address(manager, "used").as_deref() == Some("10.0.0.5")
        })
        .await;
    fixture
        .until("the status is rebuilt", |manager| {
            indexes(manager) == [("used".to_owned(), "10.0.0.5".to_owned())]
        })
        .await;
    fixture.delete::<IPClaim>("used").await;
    fixture.create(claim("next")).await;
    fixture
        .until("next has an address", |manager| address(manager, "next").as_deref() == Some("10.0.0.1"))
        .await;
    assert_eq!(
        address(&fixture.manager, "used").as_deref(),
        Some("10.0.0.5"),
        "another finalizer is on the claim"
    );
    fixture.patch::<IPClaim>("used", json!({"metadata": {"finalizers": ["ipclaim.ipam.metal3.io"]}})).await;
    fixture.until("the claim is gone", |manager| get::<IPClaim>(manager, "used").is_none()).await;
    assert!(fixture.get::<metal3_ipam::IPAddress>("p-10-0-0-5").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_paused_cluster_holds_its_pools() {
    let fixture = Fixture::new(GROUPS, start).await;
    let mut pool = pool("10.0.0.9");
    pool["spec"]["clusterName"] = "c".into();
    fixture.create(pool).await;
    fixture.create(claim("a")).await;
    fixture
        .until("it waits for the Cluster", |manager| {
            message(manager, "a").is_some_and(|text| text.contains("waits for Cluster default/c"))
        })
        .await;
    fixture.create(json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"}, "spec": {"paused": true,
        "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "c"}}})).await;
    fixture.until("the Cluster is there", |manager| get::<Cluster>(manager, "c").is_some()).await;
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(address(&fixture.manager, "a"), None);
    fixture.patch::<Cluster>("c", json!({"spec": {"paused": false}})).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    let pool = fixture.get::<IPPool>("pool").unwrap();
    assert_eq!(pool.metadata.owner_references.as_ref().unwrap()[0].name, "c");
    assert_eq!(pool.metadata.labels.as_ref().unwrap()["cluster.x-k8s.io/cluster-name"], "c");
}
