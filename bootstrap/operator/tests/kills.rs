//! The process ends at each of its writes in turn: what was wanted is there in the end, and nothing is left of it afterwards.

use schemas::operator::InfrastructureProvider;
use serde_json::{Value, json};
use test_plane::requests::{Kill, Moment};
use test_plane::{Fixture, get};

use crate::operator::support::garden::{
    NAME, components, declare, deployment, installed, publish, publish_with, variables,
};
use crate::operator::support::{fixture, has, read, says};

/// A provider is installed, upgraded and deleted. Returns the number of writes, and what was there after the installation and the upgrade.
async fn run(fixture: &mut Fixture, kill: Option<(u64, Moment)>) -> (u64, [Value; 2]) {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    declare(fixture, Some("v0.3.0"), json!({})).await;
    fixture.until_with_kills("the provider is installed", |manager| has(manager, "v0.3.0")).await;
    let first = installed(fixture).await;
    fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.4.0"}})).await;
    fixture.until_with_kills("the provider is upgraded", |manager| has(manager, "v0.4.0")).await;
    let second = installed(fixture).await;
    fixture.delete::<InfrastructureProvider>(NAME).await;
    let is_gone = |manager: &_| get::<InfrastructureProvider>(manager, NAME).is_none();
    fixture.until_with_kills("the object is gone", is_gone).await;
    assert!(deployment(fixture).await.is_none());
    let entry =
        "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/default/providers/infrastructure-garden";
    assert!(read(fixture, entry).await.is_none());
    (fixture.requests.writes() - before, [first, second])
}

#[tokio::test(start_paused = true)]
async fn a_provider_ends_the_same_wherever_the_process_ends() {
    let mut fixture = fixture().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    publish(&fixture, "v0.4.0").await;
    let (_, expected) = run(&mut fixture, None).await;
    let (writes, again) = run(&mut fixture, None).await;
    assert_eq!(again, expected);
    assert!(writes > 15, "{writes}");
    for write in 1..=writes {
        let moment = if write % 2 == 0 { Moment::Before } else { Moment::After };
        let (_, found) = run(&mut fixture, Some((write, moment))).await;
        assert_eq!(found, expected, "killed {moment:?} write {write}");
    }
}

/// The writes of an upgrade at which the process ends; its first ones, some of the installation of the new version, and some of the undoing.
const OF_UPGRADE: [u64; 4] = [3, 10, 14, 18];

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_undone_wherever_the_process_ends() {
    let mut fixture = fixture().await;
    variables(&fixture).await;
    publish(&fixture, "v0.3.0").await;
    let broken = components("v0.4.0").replace("example/garden", "example/broken");
    publish_with(&fixture, "v0.4.0", &broken).await;
    for write in OF_UPGRADE {
        declare(&fixture, Some("v0.3.0"), json!({})).await;
        fixture.until("the provider is installed", |manager| has(manager, "v0.3.0")).await;
        let expected = installed(&fixture).await;
        let before = fixture.requests.writes();
        fixture.requests.plan(Kill { write: before + write, moment: Moment::After });
        fixture.patch::<InfrastructureProvider>(NAME, json!({"spec": {"version": "v0.4.0"}})).await;
        let is_undone = |manager: &_| {
            says(manager, "ProviderUpgraded", "False", "ComponentsUpgradeError", "was undone")
                && says(manager, "Ready", "True", "DeploymentsAvailable", "")
        };
        fixture.until_with_kills(&format!("killed at write {write}, it is undone"), is_undone).await;
        assert!(fixture.requests.writes() - before > write, "it was killed");
        assert_eq!(installed(&fixture).await, expected, "killed at write {write}");
        fixture.delete::<InfrastructureProvider>(NAME).await;
        fixture
            .until("the object is gone", |manager| get::<InfrastructureProvider>(manager, NAME).is_none())
            .await;
    }
}
