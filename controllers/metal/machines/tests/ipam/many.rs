//! A large pool with many claims.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::collections::BTreeSet;

use schemas::metal3_ipam::{IPAddress, IPClaim, IPPool};
use serde_json::json;

use crate::metal_machines::ipam::lives::{GROUPS, claim, start};
use test_plane::Fixture;

/// Each claim costs three writes, whatever the number of claims.
const WRITES_OF_A_CLAIM: u64 = 3;

async fn writes_for(claims: usize) -> u64 {
    let fixture = Fixture::new(GROUPS, start).await;
    fixture
        .create(json!({
            "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": {"name": "pool"},
            "spec": {"namePrefix": "p", "prefix": 8, "pools": [{"subnet": "10.0.0.0/8"}]},
        }))
        .await;
    for number in 0..claims {
        fixture.create(claim(&format!("c{number}"))).await;
    }
    let is_settled = |claim: &IPClaim| claim.status.as_ref().is_some_and(|status| status.address.is_some());
    fixture
        .until("all claims have an address", |manager| {
            manager.objects::<IPClaim>().all().iter().filter(|claim| is_settled(claim)).count() == claims
        })
        .await;
    fixture
        .until("the pool lists all", |manager| {
            manager.objects::<IPPool>().all()[0]
                .status
                .as_ref()
                .is_some_and(|status| status.indexes.len() == claims)
        })
        .await;
    let addresses: BTreeSet<String> =
        fixture.list::<IPAddress>().await.into_iter().map(|address| address.spec.address).collect();
    assert_eq!(addresses.len(), claims);
    fixture.requests.writes()
}

#[tokio::test(start_paused = true)]
async fn the_number_of_writes_grows_with_the_number_of_claims() {
    // Below, at and above the number of claims that are served at the same time, and far above it.
    for claims in [7, 8, 9, 500] {
        let writes = writes_for(claims).await;
        let for_claims = WRITES_OF_A_CLAIM * claims as u64;
        assert!(
            writes >= for_claims && writes < for_claims + for_claims / 5 + 20,
            "{claims} claims: {writes} writes"
        );
    }
}
