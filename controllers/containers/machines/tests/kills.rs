//! The process ends before and after each change of the host in turn: each machine is made once, and nothing is left over.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::Manager;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;
use test_plane::Fixture;
use test_plane::requests::Moment;

use crate::containers_machines::fixture::{cluster, fixture, get, is_ready, machine};
use crate::containers_machines::host::Host;

/// Waits until `done`; the planned kill ends the controllers, and they start again.
async fn until(fixture: &mut Fixture, host: &Host, what: &str, done: impl Fn(&Manager) -> bool) {
    let was_killed = tokio::select! {
        biased;
        () = host.killed() => true,
        () = fixture.until(what, &done) => false,
    };
    if was_killed {
        fixture.restart().await;
        fixture.until(what, done).await;
    }
}

/// A cluster of two machines comes up and goes. Returns the number of changes.
async fn run(kill: Option<(usize, Moment)>) -> usize {
    let (mut fixture, host) = fixture().await;
    if let Some((change, moment)) = kill {
        host.plan(change, moment);
    }
    cluster(&fixture, "default").await;
    machine(&fixture, "default", "first-cp-1", json!({})).await;
    machine(&fixture, "default", "first-worker", json!({"preLoadImages": ["web"]})).await;
    let are_ready = |manager: &Manager| is_ready(manager, "first-cp-1") && is_ready(manager, "first-worker");
    until(&mut fixture, &host, &format!("{kill:?}: both machines are ready"), are_ready).await;
    let mut created = host.with(|contents| contents.created.clone());
    created.sort();
    assert_eq!(created, ["first-cp-1", "first-worker"], "{kill:?}");
    for name in created {
        assert_eq!(host.machine(&name).unwrap().begun, 1, "{kill:?}");
    }
    fixture.delete::<Cluster>("first").await;
    let is_gone = |manager: &Manager| {
        get::<DevCluster>(manager, "default", "first").is_none()
            && manager.objects::<DevMachine>().all().is_empty()
    };
    until(&mut fixture, &host, &format!("{kill:?}: the cluster is gone"), is_gone).await;
    let left = host.with(|contents| (contents.machines.len(), contents.balancers.len()));
    assert_eq!(left, (0, 0), "{kill:?}");
    fixture.manager.stop().await;
    host.with(|contents| contents.changes.len())
}

#[tokio::test(start_paused = true)]
async fn each_machine_is_made_once_wherever_the_process_ends() {
    let changes = run(None).await;
    assert!(changes > 10, "{changes}");
    for change in 1..=changes {
        for moment in [Moment::Before, Moment::After] {
            run(Some((change, moment))).await;
        }
    }
}
