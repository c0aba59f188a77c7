//! When addresses become free.

use std::time::Duration;

use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::json;
use test_plane::{World, get};

use crate::ipam::support::{GROUPS, address, claim, has_reason, numbers, pool, start};

#[tokio::test(start_paused = true)]
async fn an_address_is_reserved_for_the_grace_period_after_its_release() {
    let world = World::new(GROUPS, start).await;
    let mut pool = pool("10.0.0.10");
    pool["spec"]["addressReuseGracePeriodSeconds"] = json!(60);
    world.create(pool).await;
    world.create(claim("a")).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;
    world.delete::<IPAddressClaim>("a").await;
    world.create(claim("b")).await;
    world.until("the pool is exhausted", |manager| has_reason(manager, "b", "PoolExhausted")).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(world.get::<IPAddress>("a").is_some() && world.get::<IPAddressClaim>("a").is_some());
    tokio::time::sleep(Duration::from_secs(15)).await;
    world.until("b has the address", |manager| address(manager, "b").as_deref() == Some("10.0.0.10")).await;
    assert!(world.get::<IPAddressClaim>("a").is_none());

    // With the pool, its addresses go at once.
    world.delete::<InClusterIPPool>("pool").await;
    world.delete::<IPAddressClaim>("b").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(world.get::<InClusterIPPool>("pool").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_address_is_kept_while_somebody_uses_the_claim() {
    let world = World::new(GROUPS, start).await;
    world.create(pool("10.0.0.19")).await;
    let mut used = claim("a");
    used["metadata"]["finalizers"] = json!(["another.example.com/user"]);
    world.create(used).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;
    world.delete::<IPAddressClaim>("a").await;
    world.create(claim("b")).await;
    world.until("b has an address", |manager| address(manager, "b").is_some()).await;
    assert_eq!(address(&world.manager, "a").as_deref(), Some("10.0.0.10"));
    world
        .patch::<IPAddressClaim>(
            "a",
            json!({"metadata": {"finalizers": ["ipam.cluster.x-k8s.io/ReleaseAddress"]}}),
        )
        .await;
    world.until("a is gone", |manager| get::<IPAddressClaim>(manager, "a").is_none()).await;
    assert!(world.get::<IPAddress>("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_in_the_foreground_does_not_wait_for_itself() {
    let world = World::new(GROUPS, start).await;
    world.create(pool("10.0.0.19")).await;
    world.create(claim("a")).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;
    let claims: kube::Api<IPAddressClaim> = kube::Api::namespaced(world.user(), "default");
    claims.delete("a", &kube::api::DeleteParams::foreground()).await.unwrap();
    world
        .until("both are gone", |manager| {
            get::<IPAddressClaim>(manager, "a").is_none() && get::<IPAddress>(manager, "a").is_none()
        })
        .await;
    world.until("it is counted", |manager| numbers(manager) == Some([10, 0, 10, 0])).await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_address_remains_until_its_claim_is_deleted() {
    let world = World::new(GROUPS, start).await;
    world.create(pool("10.0.0.19")).await;
    world.create(claim("a")).await;
    world.until("a has an address", |manager| address(manager, "a").is_some()).await;
    world.delete::<IPAddress>("a").await;
    world.create(claim("b")).await;
    world.until("b has another one", |manager| address(manager, "b").as_deref() == Some("10.0.0.11")).await;
    assert_eq!(address(&world.manager, "a").as_deref(), Some("10.0.0.10"));
    world.delete::<IPAddressClaim>("a").await;
    world.until("both are gone", |manager| get::<IPAddress>(manager, "a").is_none()).await;
    world.create(claim("c")).await;
    world.until("it is free", |manager| address(manager, "c").as_deref() == Some("10.0.0.10")).await;
}
