//! Clusters whose API servers do not answer, and others that are not slowed.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use kube::api::{Api, Patch, PatchParams};
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use serde_json::json;
use simulation::drawn::manifests::cluster;
use simulation::drawn::script::ClusterShape;
use simulation::simulation::{Life, Simulation};

/// Number of clusters that do not answer.
const SILENT: usize = 10;
const LIMIT: Duration = Duration::from_secs(1800);
/// The parts of a control plane machine start one after the other (VM, Node, etcd and API server), and then those of a worker (VM, Node).
/// Each takes a second and up to three tenths more.
const STARTS: Duration = Duration::from_millis(5 * 1300);
/// Everything else.
const MARGIN: Duration = Duration::from_secs(2);

/// Applies the cluster with this number.
async fn apply(life: &Life, number: usize) -> Result<()> {
    let shape = ClusterShape {
        namespace: "default",
        name: format!("c{number}"),
        control_plane: 1,
        workers: 1,
        surge: 1,
        unavailable: 0,
        unhealthy: "100%",
        startup: 1,
        is_of_class: false,
    };
    apply_all(&life.plane.registry, &life.plane.client("user"), &cluster(&shape)?).await?;
    Ok(())
}

fn is_available(life: &Life, number: usize) -> bool {
    let cluster =
        life.manager.objects::<Cluster>().get(&NamespacedName::new("default", format!("c{number}")));
    cluster.is_some_and(|cluster| cluster.condition_is_true("Available"))
}

/// Waits until a cluster is Available, or is not. Returns how long that took.
async fn until(life: &Life, number: usize, available: bool) -> Result<Duration> {
    let began = life.clock.monotonic();
    let done = async {
        while is_available(life, number) != available {
            life.clock.sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(LIMIT, done)
        .await
        .with_context(|| format!("c{number} is Available: {available}"))?;
    Ok(life.clock.monotonic() - began)
}

/// Applies a cluster, and checks that it comes up within the durations of its starts.
async fn comes_up_in_time(life: &Life, number: usize) -> Result<()> {
    apply(life, number).await?;
    let took = until(life, number, true).await?;
    ensure!(took <= STARTS + MARGIN, "c{number} took {took:?}, its machines {STARTS:?} at most");
    Ok(())
}

async fn live(life: &Life) -> Result<()> {
    for number in 0..SILENT {
        apply(life, number).await?;
    }
    for number in 0..SILENT {
        until(life, number, true).await?;
    }
    let clusters = Api::<DevCluster>::namespaced(life.plane.client("user"), "default");
    let silent = json!({"metadata": {"annotations": {"simulated.firstlight.dev/api-server-silent": ""}}});
    for number in 0..SILENT {
        let patch = Patch::Merge(&silent);
        clusters.patch(&format!("c{number}"), &PatchParams::default(), &patch).await?;
    }
    comes_up_in_time(life, SILENT).await.context("at once")?;
    for number in 0..SILENT {
        until(life, number, false).await?;
    }
    comes_up_in_time(life, SILENT + 1).await.context("when all are known to be silent")?;
    life.clock.sleep(Duration::from_secs(3600)).await;
    comes_up_in_time(life, SILENT + 2).await.context("after an hour")?;
    ensure!(is_available(life, SILENT) && is_available(life, SILENT + 1), "the others stay as they are");
    Ok(())
}

#[test]
fn ten_silent_clusters_stop_nobody() {
    Simulation::new(13).live(async |life, _| live(life).await).expect("seed 13");
}
