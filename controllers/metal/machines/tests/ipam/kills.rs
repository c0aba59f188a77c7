//! The controllers end at each of their writes in turn: no address is given twice, and none is lost.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;

use engine::Manager;
use schemas::ipam;
use schemas::metal3_ipam::{IPAddress, IPClaim, IPPool};

use crate::metal_machines::ipam::lives::{GROUPS, address, claim, cluster_api_claim, pool, start};
use test_plane::requests::{Kill, Moment};
use test_plane::{World, get};

const CLAIMS: [&str; 4] = ["a", "b", "c", "d"];

fn all_given(manager: &Manager, claims: &[&str]) -> bool {
    claims.iter().all(|claim| address(manager, claim).is_some())
}

/// Four claims get addresses, two are deleted, two others get the free addresses, and all are deleted. Returns the number of writes.
async fn run(world: &mut World, kill: Option<(u64, Moment)>) -> u64 {
    let before = world.requests.writes();
    if let Some((write, moment)) = kill {
        world.requests.plan(Kill { write: before + write, moment });
    }
    world.create(pool("10.0.0.4")).await;
    for name in ["a", "b"] {
        world.create(claim(name)).await;
    }
    for name in ["c", "d"] {
        world.create(cluster_api_claim(name)).await;
    }
    world.until_with_kills("all have addresses", |manager| all_given(manager, &CLAIMS)).await;
    check(world, 4).await;
    world.delete::<IPClaim>("a").await;
    world.delete::<ipam::IPAddressClaim>("c").await;
    world.create(claim("e")).await;
    world.create(cluster_api_claim("f")).await;
    let given = |manager: &Manager| all_given(manager, &["b", "d", "e", "f"]);
    world.until_with_kills("the free addresses are given", given).await;
    check(world, 4).await;
    let listed = |manager: &Manager| {
        let status = get::<IPPool>(manager, "pool").and_then(|pool| pool.status.clone());
        status.unwrap_or_default().indexes.into_keys().collect::<String>()
    };
    world.until_with_kills("the status is right", |manager| listed(manager) == "bdef").await;
    for name in ["b", "e"] {
        world.delete::<IPClaim>(name).await;
    }
    for name in ["d", "f"] {
        world.delete::<ipam::IPAddressClaim>(name).await;
    }
    world.delete::<IPPool>("pool").await;
    world.until_with_kills("all is gone", |manager| manager.objects::<IPPool>().all().is_empty()).await;
    world
        .until("the claims, too", |manager| {
            manager.objects::<IPClaim>().all().is_empty()
                && manager.objects::<ipam::IPAddressClaim>().all().is_empty()
        })
        .await;
    check(world, 0).await;
    world.requests.writes() - before
}

/// Checks on the server that no address is given twice.
async fn check(world: &World, count: usize) {
    let mut all: Vec<String> =
        world.list::<IPAddress>().await.into_iter().map(|address| address.spec.address).collect();
    all.extend(world.list::<ipam::IPAddress>().await.into_iter().map(|address| address.spec.address));
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!((distinct.len(), all.len()), (count, count), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn no_address_is_given_twice_wherever_the_process_ends() {
    let mut world = World::new(GROUPS, start).await;
    let writes = run(&mut world, None).await;
    assert!(writes > 20, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut world, Some((write, moment))).await;
        }
    }
}
