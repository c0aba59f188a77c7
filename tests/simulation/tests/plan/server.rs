//! A server whose clusters are at rest, as the beginning of plans.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse, read_all};
use firstlight::plan::stand_ins::plan::Durations;
use firstlight::plan::{Plan, Settings, State, play};
use serde_json::Value;
use simulation::simulation::{Life, Simulation};

const LIMIT: Duration = Duration::from_secs(3600);
/// The class and the cluster of the examples: 3 control plane machines, and MachineDeployments.
const EXAMPLE: &str = "clusterclass";

/// Returns the documents of an example.
pub fn example(path: &str) -> Result<Vec<Document>> {
    Ok(read_all(&[PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)])?)
}

/// Returns the documents of the example's Cluster, in which `from` is replaced by `to`.
pub fn changed(from: &str, to: &str) -> Result<Vec<Document>> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/clusterclass/cluster.yaml");
    let text = std::fs::read_to_string(file)?;
    anyhow::ensure!(text.contains(from), "the example has no {from:?}");
    Ok(parse("cluster.yaml", &text.replace(from, to))?)
}

/// Returns the objects at a path.
pub async fn list(life: &Life, path: &str) -> Result<Vec<Value>> {
    let request = http::Request::get(path).body(Vec::new())?;
    let mut list: Value = life.plane.client("user").request(request).await?;
    Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

/// Returns whether all Machines have Nodes and all Clusters are Available.
async fn is_complete(life: &Life) -> Result<bool> {
    let has = |object: &Value, type_: &str, status: &str| {
        let conditions = object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|found| found["type"] == type_ && found["status"] == status)
    };
    let clusters = list(life, "/apis/cluster.x-k8s.io/v1beta2/clusters").await?;
    let machines = list(life, "/apis/cluster.x-k8s.io/v1beta2/machines").await?;
    let is_done = |cluster: &Value| {
        has(cluster, "Available", "True")
            && has(cluster, "ScalingUp", "False")
            && !has(cluster, "RollingOut", "True")
    };
    Ok(!machines.is_empty()
        && clusters.iter().all(is_done)
        && machines.iter().all(|machine| has(machine, "Available", "True")))
}

/// Applies documents to a server, and waits until its clusters are complete.
pub async fn complete(life: &Life, documents: &[Document]) -> Result<()> {
    apply_all(&life.plane.registry, &life.plane.client("user"), documents).await?;
    until_complete(life).await
}

/// Waits until the clusters of a server are complete.
pub async fn until_complete(life: &Life) -> Result<()> {
    let complete = async {
        loop {
            life.clock.sleep(Duration::from_secs(5)).await;
            if is_complete(life).await? && life.manager.is_idle(Duration::from_secs(5)) {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(LIMIT, complete).await.context("the clusters are not complete")?
}

/// Returns the state of a server with these clusters, and the time at which it was read.
pub fn state_of(documents: &[Document]) -> Result<(State, DateTime<Utc>)> {
    let mut simulation = Simulation::new(1);
    let state = simulation.live(async |life, _| {
        complete(life, documents).await?;
        State::read(life.plane.client("user"), "https://server".to_owned(), "default").await
    })?;
    Ok((state, simulation.now()))
}

/// Returns the state of a server with the cluster of the examples.
pub fn example_state() -> Result<(State, DateTime<Utc>)> {
    state_of(&example(EXAMPLE)?)
}

/// How long what is not simulated takes to start.
pub const DURATIONS: Durations = Durations {
    machine: Duration::from_secs(180),
    control_plane: Duration::from_secs(240),
    infrastructure: Duration::from_secs(60),
};

/// Plays a plan.
pub fn planned((state, now): &(State, DateTime<Utc>), documents: &[Document]) -> Result<Plan> {
    let limit = Duration::from_secs(24 * 3600);
    play(state, documents, &Settings { durations: DURATIONS, limit, begin: *now })
}
