//! The controllers end at each of their writes in turn: no address is given twice, and none is lost.

use engine::Manager;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use test_plane::Fixture;
use test_plane::requests::{Kill, Moment};

use crate::ipam::support::{GROUPS, address, check_distinct, claim, numbers, pool, start};

fn all_given(manager: &Manager, claims: &[&str]) -> bool {
    claims.iter().all(|claim| address(manager, claim).is_some())
}

/// Three claims get all addresses, two are deleted, two others get the free addresses, and all are deleted. Returns the number of
/// writes.
async fn run(fixture: &mut Fixture, kill: Option<(u64, Moment)>) -> u64 {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    fixture.create(pool("10.0.0.12")).await;
    for name in ["a", "b", "c"] {
        fixture.create(claim(name)).await;
    }
    fixture.until_with_kills("all have addresses", |manager| all_given(manager, &["a", "b", "c"])).await;
    check_distinct(fixture, 3).await;
    for name in ["a", "c"] {
        fixture.delete::<IPAddressClaim>(name).await;
    }
    for name in ["d", "e"] {
        fixture.create(claim(name)).await;
    }
    let given = |manager: &Manager| all_given(manager, &["b", "d", "e"]);
    fixture.until_with_kills("the free addresses are given", given).await;
    check_distinct(fixture, 3).await;
    fixture.until_with_kills("the status is right", |manager| numbers(manager) == Some([3, 3, 0, 0])).await;
    for name in ["b", "d", "e"] {
        fixture.delete::<IPAddressClaim>(name).await;
    }
    fixture.delete::<InClusterIPPool>("pool").await;
    let is_gone = |manager: &Manager| manager.objects::<InClusterIPPool>().all().is_empty();
    fixture.until_with_kills("the pool is gone", is_gone).await;
    let none = |manager: &Manager| manager.objects::<IPAddressClaim>().all().is_empty();
    fixture.until_with_kills("the claims are gone", none).await;
    assert!(fixture.list::<IPAddress>().await.is_empty());
    fixture.requests.writes() - before
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
