//! Benchmarks of whole clusters: time until Available, and its cost.

use std::time::Duration;

use anyhow::Result;
use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::objects::cluster;
use crate::server::Server;

/// How much later than it happened something is seen.
const INTERVAL: Duration = Duration::from_millis(20);
/// The version of new clusters.
pub const OLD: &str = "v1.35.0";
/// The version to which they are upgraded.
pub const NEW: &str = "v1.36.0";
/// The type of a merge patch.
pub const MERGE: &str = "application/merge-patch+json";
/// Simulated start-up durations of an upgrade: one control plane machine (10 + 2 + 2), then three workers one
/// after the other (10 + 2 each), with a surge of one.
const UPGRADE_DURATIONS: f64 = 14.0 + 3.0 * 12.0;

/// Runs these benchmarks.
pub async fn run(bench: &Bench) -> Result<()> {
    bench
        .figure("cluster 1+3, 10+2+2+2 s: Available", "s", async |b| available(b, 1, true, Wall).await)
        .await?;
    bench
        .figure("cluster 1+3, zero durations: Available", "s", async |b| available(b, 1, false, Wall).await)
        .await?;
    bench.figure("cluster 1+3, 10+2+2+2 s: CPU", "s", async |b| available(b, 1, true, Cpu).await).await?;
    bench.figure("10 clusters: Available", "s", async |b| available(b, 10, true, Wall).await).await?;
    bench.figure("10 clusters: CPU per cluster", "s", async |b| available(b, 10, true, Cpu).await).await?;
    bench.figure("10 clusters: memory", "MB", async |b| available(b, 10, true, Memory).await).await?;
    bench.figure("upgrade 1+3 by a minor version, × the durations alone", "×", upgrade).await?;
    Ok(())
}

#[derive(Clone, Copy)]
enum What {
    Wall,
    Cpu,
    Memory,
}
use What::{Cpu, Memory, Wall};

async fn available(bench: &Bench, count: usize, slow: bool, what: What) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    let (cpu, started) = (server.cpu()?, bench.clock.monotonic());
    let names: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
    try_join_all(names.iter().map(|name| create(&server, name, slow))).await?;
    try_join_all(names.iter().map(|name| wait_available(bench, &server, name))).await?;
    Ok(match what {
        Wall => (bench.clock.monotonic() - started).as_secs_f64(),
        Cpu => (server.cpu()? - cpu) / count as f64,
        Memory => server.memory()?,
    })
}

/// Creates a cluster of this many control plane machines and workers, and waits until every Machine has its Node.
///
/// # Errors
/// Fails if that takes too long.
pub async fn bring_up(
    bench: &Bench,
    server: &Server,
    name: &str,
    (control_plane, workers): (i64, i64),
) -> Result<()> {
    for (path, object) in cluster(name, control_plane, workers, OLD, false) {
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    wait_available(bench, server, name).await?;
    let machines = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";
    server
        .until(&bench.clock, machines, INTERVAL, |list| {
            let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
            items.len() as i64 == control_plane + workers
                && items.iter().all(|machine| machine["status"]["nodeRef"]["name"].is_string())
        })
        .await
}

async fn create(server: &Server, name: &str, slow: bool) -> Result<()> {
    for (path, object) in cluster(name, 1, 3, OLD, slow) {
        server.send(Method::POST, &path, "application/json", Some(&object)).await?;
    }
    Ok(())
}

/// Waits until a Cluster is Available.
///
/// # Errors
/// Fails if that takes too long.
pub async fn wait_available(bench: &Bench, server: &Server, name: &str) -> Result<()> {
    let path = format!("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/{name}");
    server
        .until(&bench.clock, &path, INTERVAL, |cluster| {
            let conditions = cluster["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|c| c["type"] == "Available" && c["status"] == "True")
        })
        .await
}

async fn upgrade(bench: &Bench) -> Result<f64> {
    let server = Server::start(&bench.binary, &[], &bench.clock).await?;
    create(&server, "c", true).await?;
    wait_available(bench, &server, "c").await?;
    let control_plane =
        "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmcontrolplanes/c-cp";
    let workers = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/c-md";
    let started = bench.clock.monotonic();
    let done = |replicas: i64| {
        move |object: &Value| {
            let status = &object["status"];
            let all = ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"]
                .iter()
                .all(|field| status[*field] == replicas);
            all && status["observedGeneration"] == object["metadata"]["generation"]
        }
    };
    server.send(Method::PATCH, control_plane, MERGE, Some(&json!({"spec": {"version": NEW}}))).await?;
    server.until(&bench.clock, control_plane, INTERVAL, done(1)).await?;
    server
        .send(Method::PATCH, workers, MERGE, Some(&json!({"spec": {"template": {"spec": {"version": NEW}}}})))
        .await?;
    server.until(&bench.clock, workers, INTERVAL, done(3)).await?;
    Ok((bench.clock.monotonic() - started).as_secs_f64() / UPGRADE_DURATIONS)
}
