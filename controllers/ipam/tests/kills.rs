//! The controllers end at each of their writes in turn: no address is given twice, and none is lost.

use engine::Manager;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use test_plane::World;
use test_plane::requests::{Kill, Moment};

use crate::ipam::support::{GROUPS, address, check_distinct, claim, numbers, pool, start};

fn all_given(manager: &Manager, claims: &[&str]) -> bool {
    claims.iter().all(|claim| address(manager, claim).is_some())
}

/// Three claims get all addresses, two are deleted, two others get the free addresses, and all are deleted. Returns the number of
/// writes.
async fn run(world: &mut World, kill: Option<(u64, Moment)>) -> u64 {
    let before = world.requests.writes();
    if let Some((write, moment)) = kill {
        world.requests.plan(Kill { write: before + write, moment });
    }
    world.create(pool("10.0.0.12")).await;
    for name in ["a", "b", "c"] {
        world.create(claim(name)).await;
    }
    world.until_with_kills("all have addresses", |manager| all_given(manager, &["a", "b", "c"])).await;
    check_distinct(world, 3).await;
    for name in ["a", "c"] {
        world.delete::<IPAddressClaim>(name).await;
    }
    for name in ["d", "e"] {
        world.create(claim(name)).await;
    }
    let given = |manager: &Manager| all_given(manager, &["b", "d", "e"]);
    world.until_with_kills("the free addresses are given", given).await;
    check_distinct(world, 3).await;
    world.until_with_kills("the status is right", |manager| numbers(manager) == Some([3, 3, 0, 0])).await;
    for name in ["b", "d", "e"] {
        world.delete::<IPAddressClaim>(name).await;
    }
    world.delete::<InClusterIPPool>("pool").await;
    let is_gone = |manager: &Manager| manager.objects::<InClusterIPPool>().all().is_empty();
    world.until_with_kills("the pool is gone", is_gone).await;
    let none = |manager: &Manager| manager.objects::<IPAddressClaim>().all().is_empty();
    world.until_with_kills("the claims are gone", none).await;
    assert!(world.list::<IPAddress>().await.is_empty());
    world.requests.writes() - before
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
