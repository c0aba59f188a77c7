//! What becomes of a whole control plane whose input is wrong: a condition says what to do, the machines go on, nothing is written all the
//! time, and after the mistake is mended all is well.
#![allow(clippy::unwrap_used, reason = "tests")]

mod creation;
mod drain;
mod owners;
mod providers;
mod secrets;

use std::time::Duration;

use engine::Manager;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use test_plane::{Fixture, get};

/// How long conditions may still change because something lasts too long: a lost connection, a deletion.
const SETTLED: Duration = Duration::from_secs(1000);

/// Asserts that the controllers write at most `most` times within an hour, after all has settled.
async fn rests(fixture: &Fixture, most: u64) {
    tokio::time::sleep(SETTLED).await;
    let before = fixture.requests.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let writes = fixture.requests.writes() - before;
    let trace = fixture.requests.trace();
    let last = &trace[trace.len().saturating_sub(20)..];
    assert!(writes <= most, "{writes} writes in an hour, the last: {last:#?}");
}

/// Returns the message of a condition of a Cluster.
fn of_cluster(manager: &Manager, name: &str, type_: &str) -> String {
    let cluster = get::<Cluster>(manager, name).unwrap_or_default();
    cluster.condition(type_).map(|found| found.message.clone()).unwrap_or_default()
}
