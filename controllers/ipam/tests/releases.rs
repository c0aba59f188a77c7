//! When addresses become free.

use std::time::Duration;

use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::json;
use test_plane::{Fixture, get};

use crate::ipam::support::{GROUPS, address, claim, has_reason, numbers, pool, start};

#[tokio::test(start_paused = true)]
async fn an_address_is_reserved_for_the_grace_period_after_its_release() {
    let fixture = Fixture::new(GROUPS, start).await;
    let mut pool = pool("10.0.0.10");
    pool["spec"]["addressReuseGracePeriodSeconds"] = json!(60);
    fixture.create(pool).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.create(claim("b")).await;
    fixture.until("the pool is exhausted", |manager| has_reason(manager, "b", "PoolExhausted")).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(fixture.get::<IPAddress>("a").is_some() && fixture.get::<IPAddressClaim>("a").is_some());
    tokio::time::sleep(Duration::from_secs(15)).await;
    fixture.until("b has the address", |manager| address(manager, "b").as_deref() == Some("10.0.0.10")).await;
    assert!(fixture.get::<IPAddressClaim>("a").is_none());

    // With the pool, its addresses go at once.
    fixture.delete::<InClusterIPPool>("pool").await;
    fixture.delete::<IPAddressClaim>("b").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(fixture.get::<InClusterIPPool>("pool").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_address_is_kept_while_somebody_uses_the_claim() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    let mut used = claim("a");
    used["metadata"]["finalizers"] = json!(["another.example.com/user"]);
    fixture.create(used).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.create(claim("b")).await;
    fixture.until("b has an address", |manager| address(manager, "b").is_some()).await;
    assert_eq!(address(&fixture.manager, "a").as_deref(), Some("10.0.0.10"));
    fixture
        .patch::<IPAddressClaim>(
            "a",
            json!({"metadata": {"finalizers": ["ipam.cluster.x-k8s.io/ReleaseAddress"]}}),
        )
        .await;
    fixture.until("a is gone", |manager| get::<IPAddressClaim>(manager, "a").is_none()).await;
    assert!(fixture.get::<IPAddress>("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_in_the_foreground_does_not_wait_for_itself() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    let claims: kube::Api<IPAddressClaim> = kube::Api::namespaced(fixture.user(), "default");
    claims.delete("a", &kube::api::DeleteParams::foreground()).await.unwrap();
    fixture
        .until("both are gone", |manager| {
            get::<IPAddressClaim>(manager, "a").is_none() && get::<IPAddress>(manager, "a").is_none()
        })
        .await;
    fixture.until("it is counted", |manager| numbers(manager) == Some([10, 0, 10, 0])).await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_address_remains_until_its_claim_is_deleted() {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    fixture.delete::<IPAddress>("a").await;
    fixture.create(claim("b")).await;
    fixture.until("b has another one", |manager| address(manager, "b").as_deref() == Some("10.0.0.11")).await;
    assert_eq!(address(&fixture.manager, "a").as_deref(), Some("10.0.0.10"));
    fixture.delete::<IPAddressClaim>("a").await;
    fixture.until("both are gone", |manager| get::<IPAddress>(manager, "a").is_none()).await;
    fixture.create(claim("c")).await;
    fixture.until("it is free", |manager| address(manager, "c").as_deref() == Some("10.0.0.10")).await;
}
