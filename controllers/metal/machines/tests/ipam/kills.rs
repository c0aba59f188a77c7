//! The controllers end at each of their writes in turn: no address is given twice, and none is lost.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;

use engine::Manager;
use schemas::ipam;
use schemas::metal3_ipam::{IPAddress, IPClaim, IPPool};

use crate::metal_machines::ipam::lives::{GROUPS, address, claim, cluster_api_claim, pool, start};
use test_plane::requests::{Kill, Moment};
use test_plane::{Fixture, get};

const CLAIMS: [&str; 4] = ["a", "b", "c", "d"];

fn all_given(manager: &Manager, claims: &[&str]) -> bool {
    claims.iter().all(|claim| address(manager, claim).is_some())
}

/// Four claims get addresses, two are deleted, two others get the free addresses, and all are deleted. Returns the number of writes.
async fn run(fixture: &mut Fixture, kill: Option<(u64, Moment)>) -> u64 {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    fixture.create(pool("10.0.0.4")).await;
    for name in ["a", "b"] {
        fixture.create(claim(name)).await;
    }
    for name in ["c", "d"] {
        fixture.create(cluster_api_claim(name)).await;
    }
    fixture.until_with_kills("all have addresses", |manager| all_given(manager, &CLAIMS)).await;
    check(fixture, 4).await;
    fixture.delete::<IPClaim>("a").await;
    fixture.delete::<ipam::IPAddressClaim>("c").await;
    fixture.create(claim("e")).await;
    fixture.create(cluster_api_claim("f")).await;
    let given = |manager: &Manager| all_given(manager, &["b", "d", "e", "f"]);
    fixture.until_with_kills("the free addresses are given", given).await;
    check(fixture, 4).await;
    let listed = |manager: &Manager| {
        let status = get::<IPPool>(manager, "pool").and_then(|pool| pool.status.clone());
        status.unwrap_or_default().indexes.into_keys().collect::<String>()
    };
    fixture.until_with_kills("the status is right", |manager| listed(manager) == "bdef").await;
    for name in ["b", "e"] {
        fixture.delete::<IPClaim>(name).await;
    }
    for name in ["d", "f"] {
        fixture.delete::<ipam::IPAddressClaim>(name).await;
    }
    fixture.delete::<IPPool>("pool").await;
    fixture.until_with_kills("all is gone", |manager| manager.objects::<IPPool>().all().is_empty()).await;
    fixture
        .until("the claims, too", |manager| {
            manager.objects::<IPClaim>().all().is_empty()
                && manager.objects::<ipam::IPAddressClaim>().all().is_empty()
        })
        .await;
    check(fixture, 0).await;
    fixture.requests.writes() - before
}

/// Checks on the server that no address is given twice.
async fn check(fixture: &Fixture, count: usize) {
    let mut all: Vec<String> =
        fixture.list::<IPAddress>().await.into_iter().map(|address| address.spec.address).collect();
    all.extend(fixture.list::<ipam::IPAddress>().await.into_iter().map(|address| address.spec.address));
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!((distinct.len(), all.len()), (count, count), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn no_address_is_given_twice_wherever_the_process_ends() {
    let mut fixture = Fixture::new(GROUPS, start).await;
    let writes = run(&mut fixture, None).await;
    assert!(writes > 20, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut fixture, Some((write, moment))).await;
        }
    }
}
