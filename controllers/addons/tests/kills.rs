//! The controllers end at each of their writes in turn: what was to be applied is applied, and a set leaves nothing behind.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::Manager;
use k8s_openapi::api::core::v1::ConfigMap;
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding};
use serde_json::Value;
use test_plane::requests::{Kill, Moment};
use test_plane::{Fixture, get};

use crate::addons::support::workload::{Workload, v};
use crate::addons::support::{cluster, config_map, fixture, is_applied, manifest, recorded, set};

/// A set is applied and deleted. Returns the number of writes.
async fn run(fixture: &mut Fixture, workload: &Workload, kill: Option<(u64, Moment)>) -> u64 {
    let before = fixture.requests.writes();
    if let Some((write, moment)) = kill {
        fixture.requests.plan(Kill { write: before + write, moment });
    }
    config_map(fixture, "maps", &manifest("one", "1")).await;
    set(fixture, "ApplyOnce", &["ConfigMap/maps"]).await;
    fixture.until_with_kills("the set is applied", is_applied).await;
    assert!(recorded(&fixture.manager, "blue", "maps").unwrap().applied);
    assert_eq!(workload.data("one").await, v("1"));
    workload.config_maps().delete("one", &Default::default()).await.unwrap();

    fixture.delete::<ClusterResourceSet>("set").await;
    let is_over = |manager: &Manager| {
        get::<ClusterResourceSet>(manager, "set").is_none()
            && get::<ClusterResourceSetBinding>(manager, "blue").is_none()
            && get::<ConfigMap>(manager, "maps").is_none()
    };
    fixture.until_with_kills("the set is gone, and its ConfigMap with it", is_over).await;
    assert_eq!(workload.data("one").await, Value::Null);
    fixture.requests.writes() - before
}

#[tokio::test(start_paused = true)]
async fn a_set_is_applied_wherever_the_process_ends() {
    let mut fixture = fixture().await;
    let workload = cluster(&fixture, "blue").await;
    let writes = run(&mut fixture, &workload, None).await;
    assert!(writes > 6, "{writes}");
    for write in 1..=writes {
        for moment in [Moment::Before, Moment::After] {
            run(&mut fixture, &workload, Some((write, moment))).await;
        }
    }
}
