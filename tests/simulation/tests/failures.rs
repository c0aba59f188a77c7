//! Simulated machines that fail by annotation, and what Cluster API says of them.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::NamespacedName;
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use kube::api::{Api, Patch, PatchParams};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::{Value, json};
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const LIMIT: Duration = Duration::from_secs(1800);

/// Returns the Machine of a worker.
fn worker(life: &Life) -> Option<Arc<Machine>> {
    let all = life.manager.objects::<Machine>().by_cluster(&NamespacedName::new("default", "first"));
    all.into_iter().find(|machine| label(machine.as_ref(), engine::names::CONTROL_PLANE).is_none())
}

/// Returns status and reason of a condition.
fn condition<K: HasConditions>(object: Option<&K>, type_: &str) -> String {
    let found = object.and_then(|object| object.condition(type_));
    found.map(|condition| format!("{} {}", condition.status, condition.reason)).unwrap_or_default()
}

async fn until(life: &Life, what: &str, wanted: &str, found: impl Fn(&Life) -> String) -> Result<()> {
    let done = async {
        while found(life) != wanted {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    let cluster = || life.manager.objects::<Cluster>().get(&NamespacedName::new("default", "first"));
    tokio::time::timeout(LIMIT, done).await.with_context(|| {
        format!("{what}: {}, not {wanted}: {:#?}", found(life), cluster().map(|it| it.conditions().to_vec()))
    })
}

async fn annotate(life: &Life, name: &str, annotation: &str, value: Value) -> Result<()> {
    let machines = Api::<DevMachine>::namespaced(life.plane.client("user"), "default");
    let key = format!("simulated.firstlight.dev/{annotation}");
    let patch = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
    machines.patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let shape = Shape { control_plane: 1, workers: 1, version: "v1.36.0" };
    apply_all(&life.plane.registry, &client, &cluster(shape)?).await?;
    let node = |life: &Life| condition(worker(life).as_deref(), "NodeReady");
    let available = |life: &Life| {
        let cluster = life.manager.objects::<Cluster>().get(&NamespacedName::new("default", "first"));
        condition(cluster.as_deref(), "Available")
    };
    until(life, "a cluster", "True Available", available).await?;
    let name = worker(life).and_then(|machine| machine.metadata.name.clone()).context("a worker")?;
    let failing = |life: &Life| {
        let dev = life.manager.objects::<DevMachine>().get(&NamespacedName::new("default", name.as_str()));
        condition(dev.as_deref(), "SimulatedFailure")
    };
    for (failure, reason) in
        [("node-not-ready", "False NodeNotReady"), ("kubelet-stopped", "Unknown NodeReadyUnknown")]
    {
        annotate(life, &name, failure, json!("10m")).await?;
        until(life, failure, reason, node).await?;
        until(life, failure, "True AskedForByAnnotation", failing).await?;
        annotate(life, &name, failure, Value::Null).await?;
        until(life, "healed", "True NodeReady", node).await?;
        until(life, "healed", "", failing).await?;
    }
    let clusters = Api::<DevCluster>::namespaced(client, "default");
    let silent = |value: Value| {
        Patch::Merge(
            json!({"metadata": {"annotations": {"simulated.firstlight.dev/api-server-silent": value}}}),
        )
    };
    clusters.patch("first", &PatchParams::default(), &silent(json!(""))).await?;
    until(life, "a silent API server", "False NotAvailable", available).await?;
    clusters.patch("first", &PatchParams::default(), &silent(Value::Null)).await?;
    until(life, "an API server that answers", "True Available", available).await
}

#[test]
fn machines_fail_by_annotation_and_heal() {
    Simulation::new(11).live(async |life, _| live(life).await).expect("seed 11");
}
