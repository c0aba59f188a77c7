//! The controllers end at each of their writes in turn: no index and no address is given twice, and none is lost.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;

use engine::Manager;
use k8s_openapi::api::core::v1::Secret;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim};
use schemas::metal3_ipam::{IPAddress, IPClaim};

use crate::metal_machines::data::fixture::{claim, fixture, indexes, is_ready, machine, template};
use test_plane::Fixture;
use test_plane::requests::{Kill, Moment};

/// Two machines get data, one returns them, another one gets its index, and all return them. Returns the number of writes.
async fn run(fixture: &mut Fixture, kill: Option<(u64, Moment)>) -> u64 {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    for name in ["a", "b"] {
        claim(fixture, name).await;
    }
    let ready = |manager: &Manager| ["a", "b"].iter().all(|name| is_ready(manager, name));
    fixture.until_with_kills("both are ready", ready).await;
    check(fixture, 2).await;
    fixture.delete::<Metal3DataClaim>("b").await;
    claim(fixture, "c").await;
    let ready = |manager: &Manager| ["a", "c"].iter().all(|name| is_ready(manager, name));
    fixture.until_with_kills("the third is ready", ready).await;
    let names =
        |manager: &Manager| indexes(manager).into_iter().map(|(_, name)| name).collect::<BTreeSet<_>>();
    let expected: BTreeSet<String> = ["a", "c"].map(str::to_owned).into();
    fixture.until_with_kills("the status is right", |manager| names(manager) == expected).await;
    let are_returned = |manager: &Manager, count: usize| {
        manager.objects::<IPClaim>().all().len() == count
            && manager.objects::<Secret>().all().len() == 2 * count
    };
    fixture.until_with_kills("addresses are returned", |manager| are_returned(manager, 2)).await;
    check(fixture, 2).await;
    for name in ["a", "c"] {
        fixture.delete::<Metal3DataClaim>(name).await;
    }
    let is_empty = |manager: &Manager| are_returned(manager, 0) && indexes(manager).is_empty();
    fixture.until_with_kills("all are returned", is_empty).await;
    check(fixture, 0).await;
    // The writes of the status of the pool come with a delay.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    fixture.requests.writes() - before
}

/// Checks on the server that so many indexes and addresses are given, each once.
async fn check(fixture: &Fixture, count: usize) {
    let data = fixture.list::<Metal3Data>().await;
    let indexes: BTreeSet<Option<i32>> = data.iter().map(|data| data.spec.index).collect();
    let claims: BTreeSet<String> = data.iter().filter_map(|data| data.spec.claim.clone()?.name).collect();
    assert_eq!((data.len(), indexes.len(), claims.len()), (count, count, count));
    let addresses = fixture.list::<IPAddress>().await;
    let distinct: BTreeSet<&str> = addresses.iter().map(|address| address.spec.address.as_str()).collect();
    assert_eq!((addresses.len(), distinct.len()), (count, count));
    let secrets = fixture.list::<Secret>().await;
    let texts: BTreeSet<String> = secrets.iter().map(|secret| format!("{:?}", secret.data)).collect();
    assert_eq!(secrets.len(), texts.len(), "no two machines have the same data");
}

#[tokio::test(start_paused = true)]
async fn no_index_is_given_twice_wherever_the_process_ends() {
    let mut fixture = fixture(template()).await;
    for name in ["a", "b", "c"] {
        machine(&fixture, name).await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let writes = run(&mut fixture, None).await;
    assert!(writes > 30, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut fixture, Some((write, moment))).await;
        }
    }
}
