//! A large pool with many claims.

use std::collections::BTreeSet;

use schemas::ipam::{IPAddress, IPAddressClaim};
use serde_json::json;
use test_plane::Fixture;

use crate::ipam::support::{GROUPS, claim, numbers, pool, start};

/// Each claim costs three writes, whatever the number of claims, and at most one of the pool's status, if claims come one by one.
const WRITES_OF_A_CLAIM: u64 = 3;

async fn writes_for(claims: usize) -> u64 {
    let fixture = Fixture::new(GROUPS, start).await;
    let mut large = pool("");
    large["spec"] = json!({"addresses": ["10.0.0.0/8"], "prefix": 8});
    fixture.create(large).await;
    for number in 0..claims {
        fixture.create(claim(&format!("c{number}"))).await;
    }
    let is_settled =
        |claim: &IPAddressClaim| claim.status.as_ref().is_some_and(|status| status.address_ref.is_some());
    fixture
        .until("all claims have an address", |manager| {
            manager.objects::<IPAddressClaim>().all().iter().filter(|claim| is_settled(claim)).count()
                == claims
        })
        .await;
    let used = i64::try_from(claims).unwrap();
    fixture.until("the pool counts them", |manager| numbers(manager).is_some_and(|all| all[1] == used)).await;
    let addresses: BTreeSet<String> =
        fixture.list::<IPAddress>().await.into_iter().map(|address| address.spec.address).collect();
    assert_eq!(addresses.len(), claims);
    fixture.requests.writes()
}

#[tokio::test(start_paused = true)]
async fn the_number_of_writes_grows_with_the_number_of_claims() {
    // Below, at and above the limits of a reconcile.
    for claims in [7, 8, 9, 499, 500, 501] {
        let writes = writes_for(claims).await;
        let for_claims = WRITES_OF_A_CLAIM * claims as u64;
        assert!(
            writes >= for_claims && writes <= for_claims + claims as u64 + 20,
            "{claims} claims: {writes} writes"
        );
    }
}
