//! Writes that fail, or whose answers are lost: no address is given twice, and everything is well afterwards.

use engine::Manager;
use schemas::ipam::IPAddressClaim;
use test_plane::Fixture;
use test_plane::requests::Fault;

use crate::ipam::support::{GROUPS, address, check_distinct, claim, has_reason, numbers, pool, ready, start};

/// Four claims of a pool with four addresses come one after the other, and one of them is replaced.
async fn run(fault: Option<(u64, Fault)>) -> u64 {
    let fixture = Fixture::new(GROUPS, start).await;
    if let Some((write, fault)) = fault {
        fixture.requests.plan_fault(write, fault);
    }
    let all =
        |manager: &Manager, claims: &[&str]| claims.iter().all(|claim| address(manager, claim).is_some());
    fixture.create(pool("10.0.0.13")).await;
    for name in ["a", "b", "c", "d"] {
        fixture.create(claim(name)).await;
    }
    fixture.until("all have addresses", |manager| all(manager, &["a", "b", "c", "d"])).await;
    check_distinct(&fixture, 4).await;
    fixture.delete::<IPAddressClaim>("b").await;
    fixture.create(claim("e")).await;
    fixture.until("e has the address of b", |manager| all(manager, &["a", "c", "d", "e"])).await;
    check_distinct(&fixture, 4).await;
    fixture.until("the status is right", |manager| numbers(manager) == Some([4, 4, 0, 0])).await;
    fixture.requests.writes()
}

#[tokio::test(start_paused = true)]
async fn no_address_is_given_twice_whatever_fails() {
    let writes = run(None).await;
    for write in 1..=writes {
        for fault in [Fault::Lost, Fault::Refused(503), Fault::Refused(409), Fault::Refused(403)] {
            run(Some((write, fault))).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_refuses_is_said_in_the_claim() {
    let fixture = Fixture::new(GROUPS, start).await;
    let refused = "POST /apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddresses";
    fixture.requests.refuse(Some(refused));
    fixture.create(pool("10.0.0.19")).await;
    fixture.create(claim("a")).await;
    fixture.until("the claim says why", |manager| has_reason(manager, "a", "AllocationFailed")).await;
    let message = ready(&fixture.manager, "a").unwrap().1;
    assert!(
        message.starts_with("the IPAddress cannot be created: create IPAddress default/a: "),
        "{message}"
    );
    fixture.requests.refuse(None);
    fixture.until("a has an address", |manager| address(manager, "a").is_some()).await;
    assert!(has_reason(&fixture.manager, "a", "Ready"));
}
