//! A Cluster of a class at rest.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, Patch, PatchParams};
use schemas::cluster::Cluster;
use serde_json::json;
use simulation::simulation::Simulation;

use super::life::{create, missing, until};

const MINUTES: Duration = Duration::from_secs(30 * 60);

/// Returns the writes that are not leases of simulated machines or events.
pub fn writes(trace: &[String]) -> Vec<&String> {
    trace.iter().filter(|write| !write.contains("/leases/") && !write.contains("/events")).collect()
}

#[test]
fn nothing_is_asked_at_rest_and_nothing_written_after_a_restart() {
    let mut simulation = Simulation::new(11);
    let come_up = simulation.live(async |life, requests| {
        create(life).await?;
        until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
        life.clock.sleep(MINUTES).await;
        let (before, reads) = (requests.trace().len(), requests.reads().len());
        life.clock.sleep(MINUTES).await;
        // A change that the topology does not care about lets its controller reconcile.
        let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
        let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
        clusters.patch("demo", &PatchParams::default(), &Patch::Merge(&touched)).await?;
        life.clock.sleep(MINUTES).await;
        let (all, read) = (requests.trace(), requests.reads());
        let found = writes(&all[before..]);
        ensure!(found.is_empty(), "{found:?}");
        // Caches list all objects of a kind when a watch ends.
        let of_objects: Vec<_> = read[reads..].iter().filter(|path| path.contains("/namespaces/")).collect();
        ensure!(of_objects.is_empty(), "{of_objects:?}");
        Ok(())
    });
    come_up.expect("seed 11");
    let restarted: Result<()> = simulation.live(async |life, requests| {
        let before = requests.trace().len();
        life.clock.sleep(MINUTES).await;
        let applied = requests.trace().len();
        let all = requests.trace();
        let patched: Vec<&String> =
            writes(&all[before..applied]).into_iter().filter(|write| !write.starts_with("PATCH")).collect();
        ensure!(patched.is_empty(), "nothing is created or deleted after a restart: {patched:?}");
        ensure!(missing(life, 2, "v1.34.0").is_empty(), "{:?}", missing(life, 2, "v1.34.0"));
        life.clock.sleep(MINUTES).await;
        let all = requests.trace();
        let found = writes(&all[applied..]);
        ensure!(found.is_empty(), "{found:?}");
        Ok(())
    });
    restarted.expect("seed 11, the second life");
}
